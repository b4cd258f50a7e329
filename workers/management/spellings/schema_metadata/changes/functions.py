"""Statements that create, change and drop functions."""

import re

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, BodyMember, BodyMemberType, Form
from workers.management.spellings.schema_metadata.sql_text import caller_sql, joined
from workers.sql.compose import Sql, concat, ident, join, literal, qualified, raw

NEW: Form = {
    "name": BodyMember(is_required=True),
    "definition": BodyMember(is_required=True),
    "args": BodyMember(BodyMemberType.TEXTS),
    "behavior": BodyMember(choices=("IMMUTABLE", "STABLE", "VOLATILE")),
    "config_params": BodyMember(BodyMemberType.TEXT_MAP),
    "schema": BodyMember(),
    "language": BodyMember(),
    "return_type": BodyMember(),
    "security_definer": BodyMember(BodyMemberType.BOOLEAN),
}
CHANGED: Form = {"name": BodyMember(), "schema": BodyMember(), "definition": BodyMember()}
_BODY = re.compile(r"\nAS (\$\w*\$)")
_LITERAL = r"E?'(?:[^'\\]|''|\\.)*'"
_SETTINGS = re.compile(rf"(?:\n SET \S+ TO {_LITERAL}(?:, {_LITERAL})*)+\Z", re.DOTALL)
"""The settings at the end of a header that Postgres printed."""
_SETTING = re.compile(rf"\n SET (\S+) TO {_LITERAL}(?:, {_LITERAL})*", re.DOTALL)


def create(body: Body) -> list[Statement]:
    """Return the statement for a new function."""
    function = qualified(body.get("schema", "public"), body["name"])
    arguments = join(", ", [caller_sql(argument) for argument in body.get("args", [])])
    settings = [
        concat(raw("set "), caller_sql(name), raw(" from current" if value == "FROM CURRENT" else " to "),
               caller_sql("" if value == "FROM CURRENT" else value))
        for name, value in body.get("config_params", {}).items()
    ]  # fmt: skip
    return [
        joined(
            "create function", function, "(", arguments, ") returns", caller_sql(body.get("return_type", "void")),
            "as", literal(body["definition"]), "language", caller_sql(body.get("language", "sql")),
            caller_sql(body.get("behavior", "VOLATILE")), "called on null input",
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
    return concat(
        qualified(old["schema"], name), raw("("), caller_sql(old["identity_argument_types"]), raw(")")
    )


def _with_definition(old: Body, definition: str) -> Sql:
    """Return the complete statement of a function with another body.

    The body that Postgres printed is the last dollar-quoted text; a function without one (`begin atomic`) gets one.
    """
    statement = old["complete_statement"]
    for start in _BODY.finditer(statement):
        if statement[start.end() :].rstrip() == old["definition"] + start[1]:
            header = statement[: start.start()]
            break
    else:
        header = statement.partition("\nBEGIN ATOMIC")[0].partition("\nRETURN ")[0].rstrip()
    return concat(caller_sql(_with_sorted_settings(header)), raw("\nAS "), literal(definition))


def _with_sorted_settings(header: str) -> str:
    """Return a header whose settings are in the order of jsonb's keys: the reference reads them from there."""
    settings = _SETTINGS.search(header)
    if settings is None:
        return header
    lines = sorted(_SETTING.finditer(settings[0]), key=lambda line: (len(line[1]), line[1]))
    return header[: settings.start()] + "".join(line[0] for line in lines)
