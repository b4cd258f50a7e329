"""Statements that add, change and drop columns."""

from collections.abc import Sequence

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.errors import bad_request
from workers.management.spellings.schema_metadata.sql_text import caller_sql, joined, type_name, value
from workers.sql.compose import EMPTY, Sql, concat, ident, literal, number, qualified, raw, render

_BOOLEAN = BodyMember(BodyMemberType.BOOLEAN)
_GENERATION = BodyMember(choices=("BY DEFAULT", "ALWAYS"))
_SHARED: Form = {
    "default_value": BodyMember(BodyMemberType.ANY),
    "default_value_format": BodyMember(choices=("expression", "literal")),
    "is_identity": _BOOLEAN,
    "identity_generation": _GENERATION,
    "is_nullable": _BOOLEAN,
    "is_unique": _BOOLEAN,
    "comment": BodyMember(),
}
NEW: Form = {
    "table_id": BodyMember(BodyMemberType.INTEGER, is_required=True),
    "name": BodyMember(is_required=True),
    "type": BodyMember(is_required=True),
    **_SHARED,
    "is_primary_key": _BOOLEAN,
    "check": BodyMember(),
}
CHANGED: Form = {
    "name": BodyMember(),
    "type": BodyMember(),
    "drop_default": _BOOLEAN,
    **_SHARED,
    "check": BodyMember(BodyMemberType.OPTIONAL_TEXT),
}


def create(table: Body, body: Body) -> list[Statement]:
    """Return the statements for a new column of a table. Raises: MetadataError."""
    relation = qualified(table["schema"], table["name"])
    column = ident(body["name"])
    if body.get("is_identity"):
        if "default_value" in body:
            raise bad_request("Columns cannot both be identity and have a default value")
        start = joined_clause("generated", _generation(body), "as identity")
    else:
        start = joined_clause("default", _default(body)) if "default_value" in body else EMPTY
    nullable = EMPTY
    if "is_nullable" in body:
        nullable = raw("null") if body["is_nullable"] else raw("not null")
    return [
        joined(
            "alter table", relation, "add column", column, type_name(body["type"]), start, nullable,
            "primary key" if body.get("is_primary_key") else "",
            "unique" if body.get("is_unique") else "",
            joined_clause("check (", caller_sql(body["check"]), ")") if "check" in body else EMPTY,
        ),
        *_comment(relation, column, body),
    ]  # fmt: skip


def change(old: Body, body: Body, unique_keys: Sequence[str], check: str | None) -> list[Statement]:
    """Return the statements of a change; the name changes last.

    `unique_keys` are the constraints that make the column alone unique, `check` the first condition on it alone.
    """
    relation, column = qualified(old["schema"], old["table"]), ident(old["name"])
    alter_table = concat(raw("alter table "), relation)
    alter = concat(alter_table, raw(" alter column "), column)
    statements = []
    if "is_nullable" in body:
        statements.append(joined(alter, "drop not null" if body["is_nullable"] else "set not null"))
    if "type" in body:
        new = type_name(body["type"])
        statements.append(joined(alter, "set data type", new, "using", column, "::", new))
    if body.get("drop_default"):
        statements.append(joined(alter, "drop default"))
    elif "default_value" in body:
        statements.append(joined(alter, "set default", _default(body)))
    statements += _identity(alter, old, body)
    if old["is_unique"] and body.get("is_unique") is False:
        statements += [joined(alter_table, "drop constraint", ident(name)) for name in unique_keys]
    elif not old["is_unique"] and body.get("is_unique"):
        statements.append(joined(alter_table, "add unique (", column, ")"))
    statements += _comment(relation, column, body)
    if "check" in body:
        statements += _check(alter_table, old, body["check"], check)
    if "name" in body and body["name"] != old["name"]:
        statements.append(joined(alter_table, "rename column", column, "to", ident(body["name"])))
    return statements


def drop(old: Body, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    relation = qualified(old["schema"], old["table"])
    return [
        joined(
            "alter table", relation, "drop column", ident(old["name"]), "cascade" if cascade else "restrict"
        )
    ]


def joined_clause(*parts: Sql | str) -> Sql:
    """Return a clause of parts with a blank between them."""
    return caller_sql(joined(*[part if isinstance(part, Sql) else caller_sql(part) for part in parts]).text)


def _default(body: Body) -> Sql:
    default = body["default_value"]
    if body.get("default_value_format") == "expression":
        return caller_sql(str(default))
    return value(default)


def _generation(body: Body) -> Sql:
    return raw("always") if body.get("identity_generation") == "ALWAYS" else raw("by default")


def _identity(alter: Sql, old: Body, body: Body) -> list[Statement]:
    """Return the statement that adds, changes or drops the identity; its generation changes only where the body names one."""
    if body.get("is_identity") is False:
        return [joined(alter, "drop identity if exists")]
    if old["is_identity"]:
        return [joined(alter, "set generated", _generation(body))] if "identity_generation" in body else []
    if body.get("is_identity"):
        return [joined(alter, "add generated", _generation(body), "as identity")]
    return []


def _comment(relation: Sql, column: Sql, body: Body) -> list[Statement]:
    if "comment" not in body:
        return []
    return [joined("comment on column", concat(relation, raw("."), column), "is", value(body["comment"]))]


def _check(alter_table: Sql, old: Body, condition: str | None, present: str | None) -> list[Statement]:
    """Return the statements that replace the condition on the column; a new one must be about this column alone."""
    statements = []
    if present is not None:
        statements.append(joined(alter_table, "drop constraint", ident(present)))
    if condition is not None:
        name = f"{old['table']}_{old['name']}_check"
        statements.append(
            joined(alter_table, "add constraint", ident(name), "check (", caller_sql(condition), ")")
        )
        statements.append(_proof(old, name))
    return statements


def _proof(old: Body, name: str) -> Statement:
    """Return a statement that fails if a condition is not about the column alone."""
    body = concat(
        raw("declare columns smallint[] := (select conkey from pg_catalog.pg_constraint where conrelid = "),
        number(old["table_id"]),
        raw(" and conname = "),
        literal(name),
        raw("::name); begin if columns is null or pg_catalog.cardinality(columns) = 0 then raise exception "
            "'error creating column constraint: check condition must refer to this column'; "
            "elsif pg_catalog.cardinality(columns) > 1 then raise exception "
            "'error creating column constraint: check condition cannot refer to multiple columns'; "
            "elsif columns[1] <> "),
        number(old["ordinal_position"]),
        raw(" then raise exception "
            "'error creating column constraint: check condition cannot refer to other columns'; end if; end"),
    )  # fmt: skip
    return joined("do", literal(render(body)[0]))
