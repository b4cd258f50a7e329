"""Servers of postgres_fdw reach what the setting net.allow names, as of the last start; a superuser's servers are not checked."""

import asyncpg
import msgspec

from schemas.settings.scheduler import Net
from tests.schemas.conftest import PASSWORD
from tests.workers.database.server import TRUSTING, Server, connected
from workers.database.migrations.migrate import migrate

_CREATE = "create server {name} foreign data wrapper postgres_fdw options (host '{host}', port '{port}')"


async def _create(connection: asyncpg.Connection, host: str, port: int) -> bool:
    """Return whether a server could be created."""
    name = f"far_{await connection.fetchval('select count(*) from pg_foreign_server')}"
    try:
        await connection.execute(_CREATE.format(name=name, host=host, port=port))
    except asyncpg.InsufficientPrivilegeError:
        return False
    return True


async def test_private_hosts_are_those_that_net_allow_names(embedded: Server, database_url: str) -> None:
    hosts = [
        ("10.1.2.3", 5432),
        ("10.2.0.1", 5432),
        ("db", 5432),
        ("queue.internal", 7),
        ("queue.internal", 8),
        ("fd00::5", 9),
    ]
    seen = []
    async with connected(embedded.url(database=database_url)) as admin:
        await admin.execute("create extension postgres_fdw with schema extensions")
        for allow in ([], ["10.1.0.0/16", "DB.", "queue.internal:7", "[fd00::5]:9"]):
            settings = msgspec.structs.replace(TRUSTING, net=Net(allow=allow))
            await migrate(embedded.url(database=database_url), settings)
            async with connected(embedded.url("postgres", PASSWORD, database_url)) as project:
                seen.append([await _create(project, *host) for host in hosts])
        of_superuser = await _create(admin, "10.9.9.9", 1)

    assert seen == [[False] * 6, [True, False, True, True, False, True]]
    assert of_superuser
