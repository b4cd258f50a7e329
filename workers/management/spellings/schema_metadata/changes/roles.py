"""Statements that create, change and drop roles."""

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.errors import bad_request
from workers.management.spellings.schema_metadata.sql_text import joined, names
from workers.sql.compose import EMPTY, Sql, concat, ident, join, literal, number, raw

_BOOLEAN = BodyMember(BodyMemberType.BOOLEAN)
_SWITCHES = {
    "is_superuser": ("superuser", False),
    "can_create_db": ("createdb", False),
    "can_create_role": ("createrole", False),
    "inherit_role": ("inherit", True),
    "can_login": ("login", False),
    "is_replication_role": ("replication", False),
    "can_bypass_rls": ("bypassrls", False),
}
"""Members that are switches: the word of SQL (`no` before it means off), and what a new role has."""
_SHARED: Form = {
    "password": BodyMember(),
    **dict.fromkeys(_SWITCHES, _BOOLEAN),
    "connection_limit": BodyMember(BodyMemberType.INTEGER),
    "valid_until": BodyMember(),
}
NEW: Form = {
    "name": BodyMember(is_required=True),
    **_SHARED,
    "member_of": BodyMember(BodyMemberType.TEXTS),
    "members": BodyMember(BodyMemberType.TEXTS),
    "admins": BodyMember(BodyMemberType.TEXTS),
    "config": BodyMember(BodyMemberType.TEXT_MAP),
}
_CONFIG: Form = {
    "op": BodyMember(is_required=True, choices=("remove", "add", "replace")),
    "path": BodyMember(is_required=True),
    "value": BodyMember(),
}
CHANGED: Form = {"name": BodyMember(), **_SHARED, "config": BodyMember(BodyMemberType.ANY, members=_CONFIG)}
SECRETS = frozenset({"password"})


def create(body: Body) -> list[Statement]:
    """Return the statements for a new role."""
    role = ident(body["name"])
    switches = [_switch(word, body.get(name, default)) for name, (word, default) in _SWITCHES.items()]
    statements = [
        joined(
            "create role", role, "with", *switches,
            concat(raw("connection limit "), number(body.get("connection_limit", -1))), *_secrets(body),
            _memberships("in role", body, "member_of"), _memberships("role", body, "members"),
            _memberships("admin", body, "admins"),
        )
    ]  # fmt: skip
    statements += [
        _setting(role, name, value) for name, value in body.get("config", {}).items() if name and value
    ]
    return statements


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements of a change; the name changes last. Raises: MetadataError."""
    role = ident(old["name"])
    clauses = [_switch(word, body[name]) for name, (word, _) in _SWITCHES.items() if name in body]
    if "connection_limit" in body:
        clauses.append(concat(raw("connection limit "), number(body["connection_limit"])))
    clauses += _secrets(body)
    statements = [joined("alter role", role, *clauses)] if clauses else []
    for entry in body.get("config", []):
        if not entry["path"]:
            raise bad_request(f"Invalid config value {entry.get('value')}")
        if entry["op"] == "remove":
            statements.append(joined("alter role", role, "reset", ident(entry["path"])))
        else:
            statements.append(_setting(role, entry["path"], entry.get("value") or None))
    if "name" in body:
        statements.append(joined("alter role", role, "rename to", ident(body["name"])))
    return statements


def drop(old: Body) -> list[Statement]:
    """Return the statement that drops it."""
    return [joined("drop role", ident(old["name"]))]


def _switch(word: str, is_on: bool) -> Sql:
    return Sql((word if is_on else f"no{word}",))


def _secrets(body: Body) -> list[Sql]:
    clauses = []
    if "password" in body:
        clauses.append(concat(raw("password "), literal(body["password"])))
    if "valid_until" in body:
        clauses.append(concat(raw("valid until "), literal(body["valid_until"])))
    return clauses


def _memberships(words: str, body: Body, member: str) -> Sql:
    return concat(Sql((f"{words} ",)), names(body[member])) if body.get(member) else EMPTY


def _setting(role: Sql, name: str, value: str | None) -> Statement:
    """Return the statement that sets a setting of a role. Commas separate values, as `search_path` has several."""
    if value is None:
        return joined("alter role", role, "reset", ident(name))
    values = join(",", [literal(part.strip()) for part in value.split(",")])
    return joined("alter role", role, "set", ident(name), "=", values)
