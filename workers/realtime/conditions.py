"""Filter conditions as SQL: how they are tried when a subscription is made, and evaluated for rows. Pure.

Both run the same operators on the same types, so a condition that was accepted cannot fail later. Values are parameters; the
names of types come from the catalog. Types and operators are found in pg_catalog first.

These statements run operators and casts on values that the caller named and rows of the log; they read no table. So they run as
the login role, which may read none. A type of the project is in a schema that this role may not use; then the statement runs as
`service_role`. So operators and casts that the project defined run with its rights, and no other code does.
"""

from typing import Literal

from msgspec import Struct

from schemas.realtime import FilterCondition
from workers.database.transactions.model import Statement, TransactionSpec
from workers.realtime.filters import ParsedCondition
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


class FilterColumn(Struct, frozen=True):
    """A column that the role may select, as the catalog has it."""

    name: str
    typname: str
    type: str
    """As `format_type` prints it with an empty search path, without a modifier."""
    is_enum: bool
    is_builtin: bool
    """Its type is one of pg_catalog."""
    is_deterministic: bool
    """Equal texts have equal bytes."""
    is_by_bytes: bool
    """Its collation orders texts by their bytes."""


def local_of(op: str, column: FilterColumn) -> Local:
    """Return how the edge can decide a condition with the same outcome as SQL; empty if it cannot."""
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


def probe(condition: ParsedCondition, column: FilterColumn) -> TransactionSpec:
    """Return the transaction that fails if a condition is not valid. Its row has the operand as Postgres prints it, for `in`
    a JSON array of them."""
    type = catalog_text(column.type)
    operand = param(condition.value)
    if condition.op == "in":
        many = concat(raw("cast("), operand, raw(" as "), type, raw("[])"))
        comparison = concat(raw("cast(null as "), type, raw(") = any("), many, raw(")"))
        printed = concat(
            raw("(select pg_catalog.json_agg(one::text) from pg_catalog.unnest("), many, raw(") as one)")
        )
    else:
        one = concat(raw("cast("), operand, raw(" as "), type, raw(")"))
        comparison = concat(one, _SYMBOLS[condition.op], one)
        printed = concat(one, raw("::text"))
    return work_of(concat(raw("select "), printed, raw(", "), comparison), column.is_builtin)


def regex_probe(pattern: str) -> TransactionSpec:
    """Return the transaction that fails for a text that is not a regular expression."""
    return work_of(concat(raw("select '' ~ cast("), param(pattern), raw(" as text)")), True)


def condition_sql(condition: FilterCondition, value: Sql, type: Sql) -> Sql:
    """Return the expression that is true if a value of a type meets a condition."""
    match condition.op:
        case "is":
            test = concat(value, _IS[condition.values[0]])
        case "in":
            operand = param(array_text(condition.values))
            test = concat(value, raw(" = any(cast("), operand, raw(" as "), type, raw("[]))"))
        case op:
            operand = param(condition.values[0])
            test = concat(value, _SYMBOLS[op], raw("cast("), operand, raw(" as "), type, raw(")"))
    return concat(raw("not ("), test, raw(")")) if condition.is_negated else test


def work_of(sql: Sql, is_builtin: bool) -> TransactionSpec:
    """Return the transaction that runs operators and casts. Raises: DatabaseError for a text that Postgres cannot store."""
    text, params = render(sql)
    settings = [
        ("search_path", "pg_catalog, public, extensions"),
        ("statement_timeout", "2s"),
        ("lock_timeout", "1s"),
    ]
    if not is_builtin:
        settings.append(("role", "service_role"))
    return TransactionSpec(settings, [Statement(text, params)], read_only=True)  # type: ignore[arg-type]  # there are no slots


def array_text(values: list[str]) -> str:
    """Return the text of a Postgres array of texts."""
    quoted = ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values]
    return "{" + ",".join(quoted) + "}"


def column_of(name: str) -> Sql:
    """Return the SQL of a column of the filtered rows."""
    return concat(raw("row."), ident(name))
