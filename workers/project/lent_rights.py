"""Statements that only a superuser may run, run for role postgres all the same: publications of all tables, event triggers.

    create publication <name> for all tables [with (...)]
    create event trigger <name> on <event> [when tag in (...)] execute function <function>()

They are tried as they stand; where the server says that a superuser is needed, functions of the platform's do what they say
and give the result to role postgres (schemas/migrations/platform/0018_owned_by_the_platform.sql). Anything spelled otherwise stays
refused, and so does everything where those functions are not there: a database whose schemas are not ours.
"""

import re
from dataclasses import dataclass

import asyncpg

from workers.project.split import Statement

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
_IS_LENT = """
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
    """A publication of all tables; `options` are names and values in turn."""

    name: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """An event trigger; `function` is spelled as the file spells it, `tags` are None where it has no filter."""

    name: str
    event: str
    tags: tuple[str, ...] | None
    function: str


Lent = AllTables | EventTrigger


def read_lent(statement: Statement) -> Lent | None:
    """Give what a statement makes, if it is one of these (pure)."""
    match statement.words[:3]:
        case ("create", "publication", *_):
            found = _PUBLICATION.fullmatch(statement.text, statement.head)
            options = _options(found["options"] or "") if found else None
            return AllTables(_plain(found["name"]), options) if found and options is not None else None
        case ("create", "event", "trigger"):
            found = _TRIGGER.fullmatch(statement.text, statement.head)
            if not found:
                return None
            tags = tuple(map(_plain, re.findall(_TEXT, found["tags"]))) if found["tags"] else None
            return EventTrigger(_plain(found["name"]), _plain(found["event"]), tags, found["function"])
    return None


async def is_lent(connection: asyncpg.Connection, lent: Lent) -> bool:
    """Tell whether whoever runs the file is lent the right: role postgres, in a database of ours."""
    name = "publish_all_tables" if isinstance(lent, AllTables) else "create_event_trigger"
    return bool(await connection.fetchval(_IS_LENT, name))


async def run_lent(connection: asyncpg.Connection, lent: Lent) -> None:
    """Make it, owned by role postgres. Raises: the driver's errors."""
    match lent:
        case AllTables(name, options):
            await connection.execute("select headwater.publish_all_tables($1, $2)", name, list(options))
        case EventTrigger(name, event, tags, function):
            await connection.execute(
                "select headwater.create_event_trigger($1, $2, $3, $4::pg_catalog.text::pg_catalog.regprocedure::pg_catalog.oid)",
                name, event, None if tags is None else list(tags), f"{function}()",
            )  # fmt: skip


def _options(text: str) -> tuple[str, ...] | None:
    """Read `a = 'b', c = d, e`; None where it is anything else."""
    read: list[str] = []
    at = 0
    while at < len(text):
        found = _OPTION.match(text, at)
        if not found:
            return None
        value = _plain(found["text"]) if found["text"] else found["word"] or "true"
        read += [_plain(found["name"]), value]
        at = found.end()
    return tuple(read)


def _plain(spelled: str) -> str:
    """Give a name or a text without its quotes; a name without quotes is in small letters."""
    quote = spelled[0]
    if quote in "\"'":
        return spelled[1:-1].replace(quote * 2, quote)
    return spelled.lower()
