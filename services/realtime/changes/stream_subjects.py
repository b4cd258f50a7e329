"""The subjects of the stream CHANGES that cover the subscribed tables. Pure.

A consumer of a stream rejects subjects that overlap, so a wider subject replaces those that it covers.
"""

from collections.abc import Iterable

from broker import subjects

Pattern = tuple[str, str]
"""Schema and table; `*` is any."""
ANY = "*"
_MOST = 200
"""With more subjects than this, all tables are read."""


def subjects_for(patterns: Iterable[Pattern]) -> list[str]:
    """Return the subjects that cover these tables, without overlap, and that of gaps; sorted."""
    patterns = set(patterns)
    schemas = {schema for schema, table in patterns if table == ANY}
    tables = {table for schema, table in patterns if schema == ANY}
    exact = {(schema, table) for schema, table in patterns if schema not in schemas and table not in tables}
    if (schemas and tables) or len(schemas) + len(tables) + len(exact) > _MOST:
        return sorted([subjects.GAPS.name, "changes.>"])
    names = [_subject(schema, ANY) for schema in schemas] + [_subject(ANY, table) for table in tables]
    names += [_subject(schema, table) for schema, table in exact]
    return sorted([subjects.GAPS.name, *names])


def patterns_of(schema: str, table: str) -> tuple[Pattern, ...]:
    """Return the patterns that match a table."""
    return (schema, table), (schema, ANY), (ANY, table), (ANY, ANY)


def _subject(schema: str, table: str) -> str:
    parts = [name if name == ANY else subjects.token(name) for name in (schema, table)]
    return ".".join(("changes", *parts))
