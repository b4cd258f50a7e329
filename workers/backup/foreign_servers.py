"""Restores foreign servers and user mappings of a backup: a server that may not be created here comes with a host that does not exist.

The rules for servers of role postgres (platform/0037) depend on this platform's `net.allow` and on its port, so a server of the saved
platform may break them. What hangs on it (foreign tables, views, rights) needs it to be there, so it is created with a host
that no name server knows, and the operator reads what was saved. A user mapping that breaks the rules is left out: nothing hangs on it.
"""

import re
from collections.abc import Callable

import asyncpg

from workers.project.sql_splitter import split

Report = Callable[[str], None]
KINDS = ("SERVER", "USER MAPPING")
"""Kinds of entries of a dump that are restored here; a dump lists a server before its mappings."""
_SERVER = re.compile(
    r"(?P<head>CREATE SERVER (?P<name>\"(?:[^\"]|\"\")+\"|\S+) .*?FOREIGN DATA WRAPPER postgres_fdw)(?: OPTIONS \((?P<options>.*)\))?",
    re.DOTALL,
)
_NOWHERE = "refused.invalid"
"""A name under a top-level domain that never exists (RFC 6761)."""


async def restore_foreign_servers(project: asyncpg.Connection, script: str, report: Report) -> list[str]:
    """Create the servers and mappings of a script of pg_restore as role postgres; return its `ALTER SERVER ... OWNER` commands.

    Raises: the driver's errors, for a server that is refused for another reason than a rule for servers.
    """
    owners = []
    for statement in split(script):
        text = statement.text[statement.head :]
        if text.startswith("CREATE SERVER "):
            await _create_server(project, text, report)
        elif text.startswith("CREATE USER MAPPING "):
            await _create_mapping(project, text, report)
        elif text.startswith("ALTER SERVER "):
            owners.append(text)
    return owners


async def _create_server(project: asyncpg.Connection, text: str, report: Report) -> None:
    try:
        await project.execute(text)
    except asyncpg.InsufficientPrivilegeError as error:
        match = _SERVER.fullmatch(text)
        if match is None:  # of a wrapper without rules: role postgres may not use it
            raise
        await project.execute(f"{match['head']} OPTIONS (host '{_NOWHERE}')")
        saved = " ".join((match["options"] or "none").split())
        report(
            f"Note: {error.message}. It was restored with the host {_NOWHERE}, so its tables cannot be read. {error.hint or ''} "
            f"Its options were: {saved}. Once they are allowed: alter server {match['name']} options (set host '...')"
        )


async def _create_mapping(project: asyncpg.Connection, text: str, report: Report) -> None:
    try:
        await project.execute(text)
    except asyncpg.PostgresError as error:  # a rule, or a role that is not here
        head = text.partition(" OPTIONS (")[0]  # what follows has the password
        report(f"Note: {error.message}; left out: {head}")
