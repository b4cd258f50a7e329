"""Statements that create, change and drop schemas."""

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, Form
from workers.management.spellings.schema_metadata.sql_text import joined
from workers.sql.compose import ident

NEW: Form = {"name": BodyMember(is_required=True), "owner": BodyMember()}
CHANGED: Form = {"name": BodyMember(), "owner": BodyMember()}


def create(body: Body) -> list[Statement]:
    """Return the statements for a new schema."""
    owner = ident(body.get("owner", "postgres"))
    return [joined("create schema", ident(body["name"]), "authorization", owner)]


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements for another owner, then another name."""
    schema = ident(old["name"])
    statements = []
    if "owner" in body:
        statements.append(joined("alter schema", schema, "owner to", ident(body["owner"])))
    if "name" in body:
        statements.append(joined("alter schema", schema, "rename to", ident(body["name"])))
    return statements


def drop(old: Body, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    return [joined("drop schema", ident(old["name"]), "cascade" if cascade else "restrict")]
