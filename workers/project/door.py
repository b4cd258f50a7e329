"""The connections that a project's work is done over: as the project's own role, and as the owner of the platform.

What a project's files say never runs in a superuser's session, whatever URL there is: any of them could say `reset role`. Where
the URL is that of a superuser (an outside database, the shadow of a comparison), the files run in a session of a throwaway
login that is a member of role postgres and of nothing else (workers/database/superuser.py: login_as).
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import asyncpg

from workers.database.superuser import NotSuperuser, UnknownRole, connect_as_superuser, login_as
from workers.project.apply import Door
from workers.project.errors import Refused

OWNER = "postgres"
"""The role that a project's statements run as."""

_CONNECT_S = 30.0
_UNREADABLE = "The URL of the database cannot be read: postgresql://role:password@host:port/database"
"""Said in the place of the driver's own words, which may hold a part of the password."""
_MAY_BECOME = """
select current_user <> $1 and exists (
  select from pg_catalog.pg_roles where rolname = $1 and pg_catalog.pg_has_role(oid, 'member'))
"""


@dataclass(frozen=True, slots=True)
class Links:
    """URLs with passwords inside: `project` is that of a login which is or may become role postgres."""

    project: str = field(repr=False)
    owner: str = field(repr=False)
    shadow: str = field(default="", repr=False)
    """A superuser of the server where the shadow database is made."""
    is_embedded: bool = True


def links_of(environment: Mapping[str, str]) -> Links:
    """Read the URLs that the supervisor gives. Raises: Refused where there are none."""
    owner = environment.get("HEADWATER_MIGRATE_URL", "")
    project = environment.get("HEADWATER_PROJECT_URL", "")
    if not (owner or project):
        raise Refused("HEADWATER_PROJECT_URL or HEADWATER_MIGRATE_URL is needed")
    shadow = environment.get("HEADWATER_SHADOW_URL", "")
    return Links(project or owner, owner or project, shadow, is_embedded=bool(project))


def in_database(url: str, database: str) -> str:
    """Give a URL for another database of its server."""
    return urlunsplit(urlsplit(url)._replace(path="/" + quote(database, safe="")))


@contextlib.asynccontextmanager
async def open_connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Give a connection that closes at the end. Raises: Refused if the URL cannot be read; the driver's errors."""
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_S, statement_cache_size=0)
    except ValueError:
        raise Refused(_UNREADABLE) from None
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def open_as_superuser(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a superuser session in which no code of the project runs. Raises: Refused; the driver's errors."""
    try:
        connection = await connect_as_superuser(url)
    except NotSuperuser as error:
        raise Refused(f"{error}: this work needs the URL of a superuser.") from None
    except ValueError:
        raise Refused(_UNREADABLE) from None
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def open_door(url: str, tell: Callable[[str], None] = lambda _: None) -> AsyncIterator[Door]:
    """Give a connection that is role postgres, or became it; `tell` hears what statements raise as notices."""
    async with contextlib.AsyncExitStack() as stack:
        connection, role = await _as_owner(stack, url)
        connection.add_log_listener(lambda _, message: _pass_on(message, tell))
        door = Door(connection, role)
        await door.clear()
        yield door


async def _as_owner(stack: contextlib.AsyncExitStack, url: str) -> tuple[asyncpg.Connection, str | None]:
    """Return a connection for a project's files, and the role to go back to after each; None: the login's own."""
    try:
        is_owner = unquote(urlsplit(url).username or "") == OWNER
        superuser = None if is_owner else await connect_as_superuser(url)
    except NotSuperuser:
        superuser = None
    except ValueError:
        raise Refused(_UNREADABLE) from None
    if superuser is None:
        connection = await stack.enter_async_context(open_connection(url))
        return connection, OWNER if await connection.fetchval(_MAY_BECOME, OWNER) else None
    stack.push_async_callback(superuser.close)
    try:
        return await stack.enter_async_context(login_as(superuser, url, OWNER)), OWNER
    except UnknownRole:
        raise Refused(
            f"The database has no role {OWNER}, as which a project's files run: `headwater start` makes it (db.bootstrap)."
        ) from None


def _pass_on(message: asyncpg.PostgresLogMessage, tell: Callable[[str], None]) -> None:
    """Tell what a project says by RAISE, not what the server remarks (`does not exist, skipping`)."""
    told = message.as_dict()
    where = str(told.get("context") or "").partition("\n")[0]
    if where.endswith("RAISE") or told.get("severity_en", told.get("severity")) == "WARNING":
        tell(str(told["message"]))
