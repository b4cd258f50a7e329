"""Statements that create, change and drop policies."""

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import caller_sql, joined
from workers.sql.compose import EMPTY, Sql, concat, ident, join, qualified, raw

NEW: Form = {
    "name": BodyMember(is_required=True),
    "table": BodyMember(is_required=True),
    "schema": BodyMember(),
    "definition": BodyMember(),
    "check": BodyMember(),
    "action": BodyMember(choices=("PERMISSIVE", "RESTRICTIVE")),
    "command": BodyMember(choices=("SELECT", "INSERT", "UPDATE", "DELETE", "ALL")),
    "roles": BodyMember(BodyMemberType.TEXTS),
}
CHANGED: Form = {
    "name": BodyMember(),
    "definition": BodyMember(),
    "check": BodyMember(),
    "roles": BodyMember(BodyMemberType.TEXTS),
}


def create(body: Body) -> list[Statement]:
    """Return the statement for a new policy."""
    table = qualified(body.get("schema", "public"), body["table"])
    return [
        joined(
            "create policy", ident(body["name"]), "on", table,
            "as", caller_sql(body.get("action", "PERMISSIVE")), "for", caller_sql(body.get("command", "ALL")),
            "to", _roles(body.get("roles", ["public"])),
            _condition("using", body.get("definition")), _condition("with check", body.get("check")),
        )
    ]  # fmt: skip


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements of a change; the name changes last."""
    alter = concat(
        raw("alter policy "), ident(old["name"]), raw(" on "), qualified(old["schema"], old["table"])
    )
    statements = []
    if "definition" in body:
        statements.append(joined(alter, _condition("using", body["definition"])))
    if "check" in body:
        statements.append(joined(alter, _condition("with check", body["check"])))
    if "roles" in body:
        statements.append(joined(alter, "to", _roles(body["roles"])))
    if "name" in body:
        statements.append(joined(alter, "rename to", ident(body["name"])))
    return statements


def drop(old: Body) -> list[Statement]:
    """Return the statement that drops it."""
    return [joined("drop policy", ident(old["name"]), "on", qualified(old["schema"], old["table"]))]


def _condition(words: str, condition: str | None) -> Sql:
    return EMPTY if condition is None else caller_sql(f"{words} ({condition})")


def _roles(roles: list[str]) -> Sql:
    """Return roles as they are named in a policy; `public` and the roles of the session are words, not names."""
    words = ("public", "current_user", "current_role", "session_user")
    return join(", ", [caller_sql(role) if role.lower() in words else ident(role) for role in roles])
