"""What to listen to: the tables that are subscribed to, as subjects of the stream. Pure.

A consumer of a stream refuses subjects that overlap, so a wider one stands for those it covers.
"""

from collections.abc import Iterable

from broker import subjects

Pattern = tuple[str, str]
"""Schema and table; `*` is any."""
ANY = "*"
_MOST = 200
"""More subjects than these are read as all."""


def subjects_for(patterns: Iterable[Pattern]) -> list[str]:
    """Give subjects that cover these tables, none twice, and that of gaps; sorted."""
    wanted = set(patterns)
    schemas = {schema for schema, table in wanted if table == ANY}
    tables = {table for schema, table in wanted if schema == ANY}
    exact = {(schema, table) for schema, table in wanted if schema not in schemas and table not in tables}
    if (schemas and tables) or len(schemas) + len(tables) + len(exact) > _MOST:
        return sorted([subjects.GAPS.name, "changes.>"])
    names = [_subject(schema, ANY) for schema in schemas] + [_subject(ANY, table) for table in tables]
    names += [_subject(schema, table) for schema, table in exact]
    return sorted([subjects.GAPS.name, *names])


def patterns_of(schema: str, table: str) -> tuple[Pattern, ...]:
    """Give the patterns that a table matches."""
    return (schema, table), (schema, ANY), (ANY, table), (ANY, ANY)


def _subject(schema: str, table: str) -> str:
    parts = [name if name == ANY else subjects.token(name) for name in (schema, table)]
    return ".".join(("changes", *parts))
