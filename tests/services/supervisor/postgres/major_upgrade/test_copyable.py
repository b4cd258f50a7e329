"""What keeps an upgrade from bringing over all that a server has."""

import asyncpg
import pytest

from services.supervisor.binaries import find_postgres
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.major_upgrade.tools import ServerTools
from services.supervisor.postgres.major_upgrade.upgrade import check_copyable
from tests.workers.database.own_server import OwnServer


async def test_a_database_that_allows_no_connections_is_named(server: OwnServer) -> None:
    tools = ServerTools(find_postgres(), server.port, "tester", "tester")
    connection = await asyncpg.connect(server.url)
    try:
        await connection.execute("create database shut allow_connections false")
        with pytest.raises(StartRefused, match=r"allow no connections.*: shut"):
            check_copyable(tools)
    finally:
        await connection.execute("drop database if exists shut")
        await connection.close()
