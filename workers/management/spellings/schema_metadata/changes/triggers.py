"""Statements that create, change and drop triggers."""

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import caller_sql, joined
from workers.sql.compose import EMPTY, concat, ident, join, literal, qualified, raw

NEW: Form = {
    "name": BodyMember(is_required=True),
    "table": BodyMember(is_required=True),
    "function_name": BodyMember(is_required=True),
    "activation": BodyMember(is_required=True, choices=("BEFORE", "AFTER", "INSTEAD OF")),
    "events": BodyMember(BodyMemberType.TEXTS, is_required=True),
    "schema": BodyMember(),
    "function_schema": BodyMember(),
    "function_args": BodyMember(BodyMemberType.TEXTS),
    "orientation": BodyMember(choices=("ROW", "STATEMENT")),
    "condition": BodyMember(),
}
CHANGED: Form = {
    "name": BodyMember(),
    "enabled_mode": BodyMember(choices=("ORIGIN", "REPLICA", "ALWAYS", "DISABLED")),
}
_MODES = {"ORIGIN": "enable", "DISABLED": "disable", "REPLICA": "enable replica", "ALWAYS": "enable always"}


def create(body: Body) -> list[Statement]:
    """Return the statement for a new trigger. An event may name columns: `UPDATE OF a, b`."""
    table = qualified(body.get("schema", "public"), body["table"])
    function = qualified(body.get("function_schema", "public"), body["function_name"])
    arguments = join(",", [literal(argument) for argument in body.get("function_args", [])])
    orientation, condition = body.get("orientation"), body.get("condition")
    return [
        joined(
            "create trigger", ident(body["name"]), caller_sql(body["activation"]), caller_sql(" or ".join(body["events"])),
            "on", table, caller_sql(f"for each {orientation}") if orientation else EMPTY,
            caller_sql(f"when ({condition})") if condition else EMPTY,
            "execute function", concat(function, raw("("), arguments, raw(")")),
        )
    ]  # fmt: skip


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements for another mode, then another name."""
    table, trigger = qualified(old["schema"], old["table"]), ident(old["name"])
    statements = []
    if "enabled_mode" in body:
        statements.append(
            joined("alter table", table, caller_sql(_MODES[body["enabled_mode"]]), "trigger", trigger)
        )
    if body.get("name") and body["name"] != old["name"]:
        statements.append(joined("alter trigger", trigger, "on", table, "rename to", ident(body["name"])))
    return statements


def drop(old: Body, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    table = qualified(old["schema"], old["table"])
    return [joined("drop trigger", ident(old["name"]), "on", table, "cascade" if cascade else "restrict")]
