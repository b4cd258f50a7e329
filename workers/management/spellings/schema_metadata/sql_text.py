"""Parts of statements that change the catalog: quoted names and values, and SQL that the caller wrote. Pure.

A value of a definition (a default, a comment) cannot be a parameter, so it is a quoted literal. Conditions, default expressions,
types and lists of arguments are SQL by their nature: they are sent as they came, as role `postgres`, one statement at a time in
the extended protocol, which rejects a second statement.
"""

import json
import re
from collections.abc import Iterable
from typing import LiteralString

from workers.database.transactions.model import Statement
from workers.sql import compose
from workers.sql.compose import Sql

_PLAIN_TYPE = re.compile(r"[a-z_][a-z0-9_$]*")
_RESERVED = frozenset(
    [
        "all",
        "analyse",
        "analyze",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "asymmetric",
        "both",
        "case",
        "cast",
        "check",
        "collate",
        "column",
        "constraint",
        "create",
        "current_date",
        "current_role",
        "current_time",
        "current_timestamp",
        "current_user",
        "default",
        "deferrable",
        "desc",
        "distinct",
        "do",
        "else",
        "end",
        "except",
        "false",
        "fetch",
        "for",
        "foreign",
        "from",
        "grant",
        "group",
        "having",
        "in",
        "initially",
        "intersect",
        "into",
        "lateral",
        "leading",
        "limit",
        "localtime",
        "localtimestamp",
        "not",
        "null",
        "offset",
        "on",
        "only",
        "or",
        "order",
        "placing",
        "primary",
        "references",
        "returning",
        "select",
        "session_user",
        "some",
        "symmetric",
        "system_user",
        "table",
        "then",
        "to",
        "trailing",
        "true",
        "union",
        "unique",
        "user",
        "using",
        "variadic",
        "when",
        "where",
        "window",
        "with",
    ]
)
"""Words that name a type only in quotes (PostgreSQL, "SQL Key Words": reserved)."""


def caller_sql(text: str) -> Sql:
    """Return SQL that the caller wrote."""
    return Sql((text,))


def joined(*parts: "Sql | LiteralString") -> Statement:
    """Return the statement of parts with a blank between them; empty parts are left out."""
    sql = compose.join(" ", [part for part in map(_as_sql, parts) if part])
    return Statement(compose.render(sql)[0])


def names(values: Iterable[str]) -> Sql:
    """Return quoted names with commas between them."""
    return compose.join(", ", [compose.ident(value) for value in values])


def table_name(text: str) -> Sql:
    """Return the name of a table as the interface writes it: what stands before the first dot is the schema."""
    schema, dot, name = text.partition(".")
    return compose.qualified(schema, name) if dot else compose.ident(text)


def type_name(text: str) -> Sql:
    """Return a type: `name` and `name[]` are quoted where they need it, a name with a schema is sent as it came."""
    if text.endswith("[]"):
        return compose.concat(_type_word(text[:-2]), compose.raw("[]"))
    return caller_sql(text) if "." in text else _type_word(text)


def value(value: object) -> Sql:
    """Return a JSON value as an SQL literal: objects and arrays are jsonb."""
    match value:
        case None:
            return compose.raw("null")
        case bool():
            return compose.raw("'t'") if value else compose.raw("'f'")
        case str():
            return compose.literal(value)
        case int() | float():
            return compose.literal(str(value))
    return compose.concat(compose.literal(json.dumps(value, ensure_ascii=False)), compose.raw("::jsonb"))


def grantee(name: str) -> Sql:
    """Return a role that rights are granted to; `public` in any case means all roles."""
    return compose.raw("public") if name.lower() == "public" else compose.ident(name)


def _as_sql(part: "Sql | LiteralString") -> Sql:
    return part if isinstance(part, Sql) else compose.raw(part)


def _type_word(text: str) -> Sql:
    is_plain = _PLAIN_TYPE.fullmatch(text) is not None and text not in _RESERVED
    return caller_sql(text) if is_plain else compose.ident(text)
