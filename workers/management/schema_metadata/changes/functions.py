"""Statements that create, change and drop functions."""

import re

from workers.database.transactions.model import Statement
from workers.management.schema_metadata.body import Body, Form, Member, MemberType
from workers.management.schema_metadata.sql_text import joined, written
from workers.sql.compose import Sql, concat, ident, join, literal, qualified, raw

NEW: Form = {
    "name": Member(is_required=True),
    "definition": Member(is_required=True),
    "args": Member(MemberType.TEXTS),
    "behavior": Member(choices=("IMMUTABLE", "STABLE", "VOLATILE")),
    "config_params": Member(MemberType.TEXT_MAP),
    "schema": Member(),
    "language": Member(),
    "return_type": Member(),
    "security_definer": Member(MemberType.BOOLEAN),
}
CHANGED: Form = {"name": Member(), "schema": Member(), "definition": Member()}
_BODY = re.compile(r"\nAS (\$\w*\$)")


def create(body: Body) -> list[Statement]:
    """Return the statement for a new function."""
    function = qualified(body.get("schema", "public"), body["name"])
    arguments = join(", ", [written(argument) for argument in body.get("args", [])])
    settings = [
        concat(raw("set "), written(name), raw(" from current" if value == "FROM CURRENT" else " to "),
               written("" if value == "FROM CURRENT" else value))
        for name, value in body.get("config_params", {}).items()
    ]  # fmt: skip
    return [
        joined(
            "create function", function, "(", arguments, ") returns", written(body.get("return_type", "void")),
            "as", literal(body["definition"]), "language", written(body.get("language", "sql")),
            written(body.get("behavior", "VOLATILE")), "called on null input",
            "security definer" if body.get("security_definer") else "security invoker", *settings,
        )
    ]  # fmt: skip


def change(old: Body, body: Body) -> list[Statement]:
    """Return the statements for another body, which keeps all other properties, then another name, then another schema."""
    statements = []
    if "definition" in body:
        statements.append(joined(_with_definition(old, body["definition"])))
    name = body.get("name") or old["name"]
    if name != old["name"]:
        statements.append(joined("alter function", _signature(old, old["name"]), "rename to", ident(name)))
    if body.get("schema") and body["schema"] != old["schema"]:
        statements.append(
            joined("alter function", _signature(old, name), "set schema", ident(body["schema"]))
        )
    return statements


def drop(old: Body, *, cascade: bool) -> list[Statement]:
    """Return the statement that drops it."""
    return [joined("drop function", _signature(old, old["name"]), "cascade" if cascade else "restrict")]


def _signature(old: Body, name: str) -> Sql:
    return concat(qualified(old["schema"], name), raw("("), written(old["identity_argument_types"]), raw(")"))


def _with_definition(old: Body, definition: str) -> Sql:
    """Return the complete statement of a function with another body.

    The body that Postgres printed is the last dollar-quoted text; a function without one (`begin atomic`) gets one.
    """
    statement = old["complete_statement"]
    for start in _BODY.finditer(statement):
        if statement[start.end() :].rstrip() == old["definition"] + start[1]:
            return concat(written(statement[: start.start()]), raw("\nAS "), literal(definition))
    header = statement.partition("\nBEGIN ATOMIC")[0].partition("\nRETURN ")[0].rstrip()
    return concat(written(header), raw("\nAS "), literal(definition))
