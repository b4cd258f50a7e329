"""Statements that need a superuser but are run for role postgres: publications of all tables, event triggers, moved extensions.

    create publication <name> for all tables [with (...)]
    create event trigger <name> on <event> [when tag in (...)] execute function <function>()
    alter extension <name> set schema <schema>

They are tried unchanged first. If the server requires a superuser, functions of the platform do it: they create the object and make
role postgres its owner (schemas/migrations/platform/0018_owned_by_the_platform.sql), or move the role's extension
(0027_extension_schemas.sql). Any other form of the statements stays rejected,
and so does everything in a database without these functions (one that the platform has not migrated).
"""

import re
from dataclasses import dataclass

import asyncpg

from workers.project.sql_splitter import ScriptStatement

_NAME = r"""(?:[^\W\d][\w$]*|"(?:[^"]|"")+")"""
_TEXT = r"'(?:[^']|'')*'"
_PUBLICATION = re.compile(
    rf"create\s+publication\s+(?P<name>{_NAME})\s+for\s+all\s+tables(?:\s+with\s*\((?P<options>[^()]*)\))?\s*",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"\s*(?P<name>{_NAME})\s*(?:=\s*(?:(?P<text>{_TEXT})|(?P<word>[\w.]+))\s*)?(?:,|$)")
_TRIGGER = re.compile(
    rf"create\s+event\s+trigger\s+(?P<name>{_NAME})\s+on\s+(?P<event>{_NAME})"
    rf"(?:\s+when\s+tag\s+in\s*\((?P<tags>\s*{_TEXT}(?:\s*,\s*{_TEXT})*)\s*\))?"
    rf"\s+execute\s+(?:function|procedure)\s+(?P<function>{_NAME}(?:\s*\.\s*{_NAME})*)\s*\(\s*\)\s*",
    re.IGNORECASE,
)
_MOVE = re.compile(
    rf"alter\s+extension\s+(?P<name>{_NAME})\s+set\s+schema\s+(?P<schema>{_NAME})\s*", re.IGNORECASE
)
_FUNCTIONS = {
    "AllTables": "publish_all_tables",
    "EventTrigger": "create_event_trigger",
    "ExtensionMove": "move_extension",
}
_HAS_FUNCTION = """
select exists (
  select from pg_catalog.pg_proc
  join pg_catalog.pg_namespace on pg_namespace.oid = pronamespace
  where nspname = 'headwater' and proname = $1
    and pg_catalog.has_schema_privilege(pg_namespace.oid, 'usage')
    and pg_catalog.has_function_privilege(pg_proc.oid, 'execute')
)
"""


@dataclass(frozen=True, slots=True)
class AllTables:
    """A publication of all tables; `options` are name, value, name, value..."""

    name: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """An event trigger; `function` is spelled as in the file, `tags` are None without a filter."""

    name: str
    event: str
    tags: tuple[str, ...] | None
    function: str


@dataclass(frozen=True, slots=True)
class ExtensionMove:
    """An extension that moves to another schema."""

    name: str
    schema: str


SuperuserStatement = AllTables | EventTrigger | ExtensionMove


def parse_superuser_statement(statement: ScriptStatement) -> SuperuserStatement | None:
    """Return what a statement creates or moves, if it is one of these; None otherwise (pure)."""
    match statement.words[:3]:
        case ("create", "publication", *_):
            match = _PUBLICATION.fullmatch(statement.text, statement.head)
            options = _options(match["options"] or "") if match else None
            return AllTables(_unquoted(match["name"]), options) if match and options is not None else None
        case ("create", "event", "trigger"):
            match = _TRIGGER.fullmatch(statement.text, statement.head)
            if not match:
                return None
            tags = tuple(map(_unquoted, re.findall(_TEXT, match["tags"]))) if match["tags"] else None
            return EventTrigger(_unquoted(match["name"]), _unquoted(match["event"]), tags, match["function"])
        case ("alter", "extension", *_):
            match = _MOVE.fullmatch(statement.text, statement.head)
            return ExtensionMove(_unquoted(match["name"]), _unquoted(match["schema"])) if match else None
    return None


async def is_supported(connection: asyncpg.Connection, statement: SuperuserStatement) -> bool:
    """Return whether the platform's function exists and the current role may call it."""
    return bool(await connection.fetchval(_HAS_FUNCTION, _FUNCTIONS[type(statement).__name__]))


async def run_superuser_statement(connection: asyncpg.Connection, statement: SuperuserStatement) -> None:
    """Create the object, owned by role postgres, or move the extension. Raises: the driver's errors."""
    match statement:
        case ExtensionMove(name, schema):
            await connection.execute("select headwater.move_extension($1, $2)", name, schema)
        case AllTables(name, options):
            await connection.execute("select headwater.publish_all_tables($1, $2)", name, list(options))
        case EventTrigger(name, event, tags, function):
            await connection.execute(
                "select headwater.create_event_trigger($1, $2, $3, $4::pg_catalog.text::pg_catalog.regprocedure::pg_catalog.oid)",
                name, event, None if tags is None else list(tags), f"{function}()",
            )  # fmt: skip


def _options(text: str) -> tuple[str, ...] | None:
    """Parse `a = 'b', c = d, e`; return None for anything else."""
    values: list[str] = []
    at = 0
    while at < len(text):
        match = _OPTION.match(text, at)
        if not match:
            return None
        value = _unquoted(match["text"]) if match["text"] else match["word"] or "true"
        values += [_unquoted(match["name"]), value]
        at = match.end()
    return tuple(values)


def _unquoted(spelled: str) -> str:
    """Return a name or a text without its quotes; a name without quotes in lower case."""
    quote = spelled[0]
    if quote in "\"'":
        return spelled[1:-1].replace(quote * 2, quote)
    return spelled.lower()
