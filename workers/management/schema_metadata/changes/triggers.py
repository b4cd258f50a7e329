"""Statements that create, change and drop triggers."""

from workers.database.transactions.model import Statement
from workers.management.schema_metadata.body import Body, Form, Member, MemberType
from workers.management.schema_metadata.sql_text import joined, written
from workers.sql.compose import EMPTY, concat, ident, join, literal, qualified, raw

NEW: Form = {
    "name": Member(is_required=True),
    "table": Member(is_required=True),
    "function_name": Member(is_required=True),
    "activation": Member(is_required=True, choices=("BEFORE", "AFTER", "INSTEAD OF")),
    "events": Member(MemberType.TEXTS, is_required=True),
    "schema": Member(),
    "function_schema": Member(),
    "function_args": Member(MemberType.TEXTS),
    "orientation": Member(choices=("ROW", "STATEMENT")),
    "condition": Member(),
}
CHANGED: Form = {
    "name": Member(),
    "enabled_mode": Member(choices=("ORIGIN", "REPLICA", "ALWAYS", "DISABLED")),
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
            "create trigger", ident(body["name"]), written(body["activation"]), written(" or ".join(body["events"])),
            "on", table, written(f"for each {orientation}") if orientation else EMPTY,
            written(f"when ({condition})") if condition else EMPTY,
            "execute function", concat(function, raw("("), arguments, raw(")")),
        )
    ]  # fmt: skip


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements for another mode, then another name."""
    table, trigger = qualified(old["schema"], old["table"]), ident(old["name"])
    statements = []
    if "enabled_mode" in body:
        statements.append(
            joined("alter table", table, written(_MODES[body["enabled_mode"]]), "trigger", trigger)
        )
    if body.get("name") and body["name"] != old["name"]:
        statements.append(joined("alter trigger", trigger, "on", table, "rename to", ident(body["name"])))
    return statements


def drop(old: Body, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    table = qualified(old["schema"], old["table"])
    return [joined("drop trigger", ident(old["name"]), "on", table, "cascade" if cascade else "restrict")]
