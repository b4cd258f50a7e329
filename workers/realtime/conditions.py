"""Conditions of filters as SQL: how they are tried at the subscription, and decided for rows. Pure.

Both run the same operators on the same types, so that what is taken at the subscription cannot fail later. Values are
parameters; the names of types come from the catalog. Types and operators are found in pg_catalog first.

What runs is operators and casts, on values that the caller named and rows that the log carries: no table is read. So the
work runs as the login role, which may read none. A type of the project lies in a schema that this role may not know; there
the work runs as `service_role`, whose rights the project's own operators and casts then have, and nothing else does.
"""

from typing import Literal

from schemas.realtime import Filter
from workers.database.session import Statement, Work
from workers.realtime.columns import Facts
from workers.realtime.filters import Condition
from workers.sql.compose import Sql, catalog_text, concat, ident, param, raw, render

Local = Literal["", "number", "bool", "text", "uuid", "null"]

IS_VALUES = ("null", "true", "false", "unknown")

_SYMBOLS = {
    "eq": raw(" = "), "neq": raw(" <> "), "lt": raw(" < "), "lte": raw(" <= "), "gt": raw(" > "), "gte": raw(" >= "),
    "like": raw(" like "), "ilike": raw(" ilike "), "match": raw(" ~ "), "imatch": raw(" ~* "),
    "isdistinct": raw(" is distinct from "),
}  # fmt: skip
_IS = {name: raw(text) for name, text in (("null", " is null"), ("true", " is true"), ("false", " is false"))}
_IS["unknown"] = raw(" is unknown")
_NUMBERS = frozenset(("smallint", "integer", "bigint", "numeric", "real", "double precision"))
_TEXTS = frozenset(("text", "character varying"))
_ORDERED = frozenset(("eq", "neq", "lt", "lte", "gt", "gte", "in", "isdistinct"))
_EQUAL = frozenset(("eq", "neq", "in", "isdistinct"))


def local_of(op: str, column: Facts) -> Local:
    """Tell how a condition can be decided without SQL, with the same outcome; empty: it cannot."""
    if op == "is":
        return "null"
    if column.type in _NUMBERS and op in _ORDERED:
        return "number"
    if column.type == "uuid" and op in _ORDERED:
        return "uuid"
    if column.type == "boolean" and op in _EQUAL:
        return "bool"
    if column.is_enum and op in _EQUAL:
        return "text"
    if column.type in _TEXTS and op in (_ORDERED if column.is_by_bytes else _EQUAL):
        return "text" if column.is_deterministic else ""
    return ""


def probe(condition: Condition, column: Facts) -> Work:
    """Give the work that fails if a condition makes no sense; its row holds the operand as Postgres prints it, and for
    `in` a JSON array of them."""
    type = catalog_text(column.type)
    operand = param(condition.value)
    if condition.op == "in":
        many = concat(raw("cast("), operand, raw(" as "), type, raw("[])"))
        tried = concat(raw("cast(null as "), type, raw(") = any("), many, raw(")"))
        shown = concat(
            raw("(select pg_catalog.json_agg(one::text) from pg_catalog.unnest("), many, raw(") as one)")
        )
    else:
        one = concat(raw("cast("), operand, raw(" as "), type, raw(")"))
        tried = concat(one, _SYMBOLS[condition.op], one)
        shown = concat(one, raw("::text"))
    return work_of(concat(raw("select "), shown, raw(", "), tried), column.is_builtin)


def regex_probe(pattern: str) -> Work:
    """Give the work that fails for what is no regular expression."""
    return work_of(concat(raw("select '' ~ cast("), param(pattern), raw(" as text)")), True)


def holds(condition: Filter, value: Sql, type: Sql) -> Sql:
    """Give the expression that is true where a condition holds for a value of a type."""
    match condition.op:
        case "is":
            found = concat(value, _IS[condition.values[0]])
        case "in":
            operand = param(array_text(condition.values))
            found = concat(value, raw(" = any(cast("), operand, raw(" as "), type, raw("[]))"))
        case op:
            operand = param(condition.values[0])
            found = concat(value, _SYMBOLS[op], raw("cast("), operand, raw(" as "), type, raw(")"))
    return concat(raw("not ("), found, raw(")")) if condition.is_negated else found


def work_of(sql: Sql, is_builtin: bool) -> Work:
    """Give the transaction that runs operators and casts. Raises: DatabaseError for a text that Postgres cannot hold."""
    text, params = render(sql)
    settings = [
        ("search_path", "pg_catalog, public, extensions"),
        ("statement_timeout", "2s"),
        ("lock_timeout", "1s"),
    ]
    if not is_builtin:
        settings.append(("role", "service_role"))
    return Work(settings, [Statement(text, params)], read_only=True)  # type: ignore[arg-type]  # there are no slots


def array_text(values: list[str]) -> str:
    """Write texts as Postgres writes an array of them."""
    quoted = ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values]
    return "{" + ",".join(quoted) + "}"


def column_of(name: str) -> Sql:
    """Give a column of the rows that are filtered."""
    return concat(raw("row."), ident(name))
