"""Opens connections for a project's tasks: as the project's role, and as superuser.

A project's files never run in a superuser's session, because any of them could say `reset role`. If the URL is a superuser's (an
outside database, the shadow of a comparison), the files run in a session of a throwaway login that is a member of role
postgres only (workers/database/sessions/throwaway_logins.py: login_as).
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import asyncpg

from workers.database.sessions.superuser import NotSuperuser, connect_as_superuser
from workers.database.sessions.throwaway_logins import UnknownRole, login_as
from workers.project.errors import ProjectRejected
from workers.project.script_runner import ProjectConnection

OWNER = "postgres"
"""The role that a project's statements run as."""

_CONNECT_S = 30.0
_UNREADABLE = "The URL of the database cannot be read: postgresql://role:password@host:port/database"
"""Replaces the driver's own text, which may contain a part of the password."""
_MAY_BECOME = """
select current_user <> $1 and exists (
  select from pg_catalog.pg_roles where rolname = $1 and pg_catalog.pg_has_role(oid, 'member'))
"""


@dataclass(frozen=True, slots=True)
class ProjectUrls:
    """URLs, including passwords. The login of `project` is role postgres or may become it; that of `owner` is a superuser."""

    project: str = field(repr=False)
    owner: str = field(repr=False)
    shadow: str = field(default="", repr=False)
    """A superuser of the server on which the shadow database is created."""
    is_embedded: bool = True


def read_project_urls(environment: Mapping[str, str]) -> ProjectUrls:
    """Read the URLs that the supervisor passes. Raises: ProjectRejected if there are none."""
    owner = environment.get("HEADWATER_MIGRATE_URL", "")
    project = environment.get("HEADWATER_PROJECT_URL", "")
    if not (owner or project):
        raise ProjectRejected("HEADWATER_PROJECT_URL or HEADWATER_MIGRATE_URL is needed")
    shadow = environment.get("HEADWATER_SHADOW_URL", "")
    return ProjectUrls(project or owner, owner or project, shadow, is_embedded=bool(project))


def password_of(url: str) -> str:
    """Return the password in a URL."""
    return unquote(urlsplit(url).password or "")


def in_database(url: str, database: str) -> str:
    """Return a URL for another database of its server."""
    return urlunsplit(urlsplit(url)._replace(path="/" + quote(database, safe="")))


@contextlib.asynccontextmanager
async def open_connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a connection and close it at the end. Raises: ProjectRejected if the URL cannot be read; the driver's errors."""
    try:
        connection = await asyncpg.connect(
            url,
            timeout=_CONNECT_S,
            statement_cache_size=0,
            server_settings={"application_name": "project migration"},
        )
    except ValueError:
        raise ProjectRejected(_UNREADABLE) from None
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def open_as_superuser(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a superuser session in which no code of the project runs. Raises: ProjectRejected; the driver's errors."""
    try:
        connection = await connect_as_superuser(url)
    except NotSuperuser as error:
        raise ProjectRejected(f"{error}: this work needs the URL of a superuser.") from None
    except ValueError:
        raise ProjectRejected(_UNREADABLE) from None
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def open_project_connection(
    url: str, report: Callable[[str], None] = lambda _: None
) -> AsyncIterator[ProjectConnection]:
    """Yield a connection as role postgres; `report` gets the notices that statements raise."""
    async with contextlib.AsyncExitStack() as stack:
        connection, role = await _connect_as_owner(stack, url)
        connection.add_log_listener(lambda _, message: _report_raised(message, report))
        project = ProjectConnection(connection, role, report)
        await project.reset()
        yield project


async def _connect_as_owner(
    stack: contextlib.AsyncExitStack, url: str
) -> tuple[asyncpg.Connection, str | None]:
    """Return a connection for a project's files, and the role to return to after each; None: the login's own."""
    try:
        is_owner = unquote(urlsplit(url).username or "") == OWNER
        superuser = None if is_owner else await connect_as_superuser(url)
    except NotSuperuser:
        superuser = None
    except ValueError:
        raise ProjectRejected(_UNREADABLE) from None
    if superuser is None:
        connection = await stack.enter_async_context(open_connection(url))
        return connection, OWNER if await connection.fetchval(_MAY_BECOME, OWNER) else None
    stack.push_async_callback(superuser.close)
    try:
        return await stack.enter_async_context(login_as(superuser, url, OWNER)), OWNER
    except UnknownRole:
        raise ProjectRejected(
            f"The database has no role {OWNER}, as which a project's files run: `headwater start` makes it (db.bootstrap)."
        ) from None


def _report_raised(message: asyncpg.PostgresLogMessage, report: Callable[[str], None]) -> None:
    """Report warnings and what a project raises by RAISE, not the server's own notices (`does not exist, skipping`)."""
    fields = message.as_dict()
    where = str(fields.get("context") or "").partition("\n")[0]
    if where.endswith("RAISE") or fields.get("severity_en", fields.get("severity")) == "WARNING":
        report(str(fields["message"]))
