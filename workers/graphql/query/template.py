"""SQL templates: statements that read as SQL, filled with `Sql` values. Pure.

    template("insert into {table} ({columns}) {rows}", table=..., columns=..., rows=...)

A template is text in the source code, never a value of a client or of the catalog. Each `{name}` is replaced by the
`Sql` value of that keyword, which brings its own parameters; they are numbered when the whole statement is rendered
(`workers/sql/compose.py`). A brace of SQL itself is doubled: `'{{}}'::json`.

This is on the hot path of planning: a large statement is made of thousands of fragments. The text of a template is
therefore split once and cached, and a call copies references to the values, not their texts.
"""

from functools import lru_cache
from string import Formatter
from typing import LiteralString

from workers.sql.compose import EMPTY, Sql

_Parts = tuple[Sql | str, ...]
"""A template: literal text as `Sql`, and the names of placeholders as `str`."""


def template(text: LiteralString, /, **values: Sql) -> Sql:
    """Return a template with its placeholders filled.

    Raises: ValueError when the placeholders are not exactly the names of `values`, or have a format or conversion.
    """
    parts, names = _split(text)
    if names != values.keys():
        raise ValueError(f"placeholders {sorted(names)} differ from values {sorted(values)}: {text!r}")
    return Sql(tuple([values[part] if isinstance(part, str) else part for part in parts]))


def optional(text: LiteralString, value: Sql | None) -> Sql:
    """Return a clause with one placeholder `{value}` filled; empty SQL when the value is None."""
    return EMPTY if value is None else template(text, value=value)


@lru_cache(maxsize=512)
def _split(text: str) -> tuple[_Parts, frozenset[str]]:
    """Split a template into its parts, and return the names of its placeholders."""
    parts: list[Sql | str] = []
    for literal_text, name, format_spec, conversion in Formatter().parse(text):
        if name == "" or format_spec or conversion:
            raise ValueError(f"a placeholder is a name in braces and nothing else: {text!r}")
        if literal_text:
            parts.append(Sql((literal_text,)))
        if name is not None:
            parts.append(name)
    return tuple(parts), frozenset(part for part in parts if isinstance(part, str))
