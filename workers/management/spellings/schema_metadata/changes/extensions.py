"""Statements that create, update and drop extensions."""

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import joined
from workers.sql.compose import EMPTY, concat, ident, literal, raw

_BOOLEAN = BodyMember(BodyMemberType.BOOLEAN)
NEW: Form = {
    "name": BodyMember(is_required=True),
    "schema": BodyMember(),
    "version": BodyMember(),
    "cascade": _BOOLEAN,
}
CHANGED: Form = {"update": _BOOLEAN, "version": BodyMember(), "schema": BodyMember()}


def create(body: Body) -> list[Statement]:
    """Return the statement for a new extension."""
    return [
        joined(
            "create extension", ident(body["name"]),
            concat(raw("schema "), ident(body["schema"])) if "schema" in body else EMPTY,
            concat(raw("version "), literal(body["version"])) if "version" in body else EMPTY,
            "cascade" if body.get("cascade") else "",
        )
    ]  # fmt: skip


def change(name: str, body: Body) -> list[Statement]:
    """Return the statements for another version, then another schema."""
    extension = ident(name)
    statements = []
    if body.get("update"):
        to = concat(raw("to "), literal(body["version"])) if "version" in body else EMPTY
        statements.append(joined("alter extension", extension, "update", to))
    if "schema" in body:
        statements.append(joined("alter extension", extension, "set schema", ident(body["schema"])))
    return statements


def drop(name: str, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    return [joined("drop extension", ident(name), "cascade" if cascade else "restrict")]
