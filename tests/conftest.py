"""What all tests share: one Postgres server a run, and the names of what lies beside the repository."""

from collections.abc import AsyncIterator

import pytest

from tests.workers.database.own_server import OwnServer, own_server

_LONGEST_ID = 48


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[OwnServer]:
    """A running Postgres server for the whole run; tests make databases of their own in it."""
    async with own_server(wal_level="logical", max_connections="200") as one:
        yield one


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name long texts by their argument: they may be made anew in each process of a run, whose names must agree."""
    return argname if isinstance(val, str | bytes) and len(val) > _LONGEST_ID else None
