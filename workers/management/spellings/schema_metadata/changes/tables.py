"""Statements that create, change and drop tables."""

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import caller_sql, joined, names, value
from workers.sql.compose import Sql, concat, ident, qualified, raw

NEW: Form = {"name": BodyMember(is_required=True), "schema": BodyMember(), "comment": BodyMember()}
CHANGED: Form = {
    "name": BodyMember(),
    "schema": BodyMember(),
    "rls_enabled": BodyMember(BodyMemberType.BOOLEAN),
    "rls_forced": BodyMember(BodyMemberType.BOOLEAN),
    "replica_identity": BodyMember(choices=("DEFAULT", "INDEX", "FULL", "NOTHING")),
    "replica_identity_index": BodyMember(),
    "primary_keys": BodyMember(BodyMemberType.ANY, members={"name": BodyMember(is_required=True)}),
    "comment": BodyMember(),
}


def create(body: Body) -> list[Statement]:
    """Return the statements for a new table without columns."""
    table = qualified(body.get("schema", "public"), body["name"])
    return [joined("create table", table, "()"), *_comment(table, body)]


def change(old: Body, body: Body, primary_key: str | None) -> list[Statement]:
    """Return the statements of a change; the schema and the name change last. `primary_key` is the constraint of the old key."""
    table = qualified(old["schema"], old["name"])
    alter = concat(raw("alter table "), table)
    statements = [joined(alter, words) for words in _switches(body)]
    if "primary_keys" in body:
        if primary_key is not None:
            statements.append(joined(alter, "drop constraint", ident(primary_key)))
        if body["primary_keys"]:
            columns = names(key["name"] for key in body["primary_keys"])
            statements.append(joined(alter, "add primary key (", columns, ")"))
    statements += _comment(table, body)
    if "schema" in body:
        statements.append(joined(alter, "set schema", ident(body["schema"])))
    if "name" in body and body["name"] != old["name"]:
        moved = qualified(body.get("schema", old["schema"]), old["name"])
        statements.append(joined("alter table", moved, "rename to", ident(body["name"])))
    return statements


def drop(old: Body, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    table = qualified(old["schema"], old["name"])
    return [joined("drop table", table, "cascade" if cascade else "restrict")]


def _switches(body: Body) -> list[Sql]:
    switches = []
    if "rls_enabled" in body:
        switches.append(
            raw("enable row level security" if body["rls_enabled"] else "disable row level security")
        )
    if "rls_forced" in body:
        switches.append(
            raw("force row level security" if body["rls_forced"] else "no force row level security")
        )
    match body.get("replica_identity"):
        case None:
            pass
        case "INDEX":
            index = caller_sql(body.get("replica_identity_index", ""))
            switches.append(concat(raw("replica identity using index "), index))
        case identity:
            switches.append(concat(raw("replica identity "), caller_sql(identity)))
    return switches


def _comment(table: Sql, body: Body) -> list[Statement]:
    return [joined("comment on table", table, "is", value(body["comment"]))] if "comment" in body else []
