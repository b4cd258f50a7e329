"""A nats-server and an S3 server for these tests, and connections that are closed at the end of the test."""

import contextlib
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio

from broker.nats.connection import NatsConnection
from tests.broker.azure_server import AzureServer, running_azure
from tests.broker.gcs_server import GcsServer, running_gcs
from tests.broker.s3_server import S3Server, running_s3
from tests.broker.server import NatsServer, running_server

Open = Callable[..., Awaitable[NatsConnection]]
Spawn = Callable[..., Awaitable[Process]]


@pytest_asyncio.fixture(scope="session")
async def nats() -> AsyncIterator[NatsServer]:
    """A nats-server that no test stops."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture
async def own_nats() -> AsyncIterator[NatsServer]:
    """A nats-server that the test may kill and start again."""
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture
async def connect() -> AsyncIterator[Open]:
    """Open connections that are closed after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_one(url: str, name: str = "test") -> NatsConnection:
            connection = await NatsConnection.open(url, name=name)
            stack.push_async_callback(connection.close)
            return connection

        yield open_one


@pytest_asyncio.fixture
async def spawn() -> AsyncIterator[Spawn]:
    """Start `python -m MODULE ARGUMENT...`, wait for its first line, and kill it after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(module: str, *arguments: str) -> Process:
            process = await create_subprocess_exec(sys.executable, "-m", module, *arguments, stdout=PIPE)

            async def end() -> None:
                if process.returncode is None:
                    process.kill()
                    await process.communicate()

            stack.push_async_callback(end)
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
            return process

        yield start


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """An S3 server; tests write under prefixes of their own."""
    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[AzureServer]:
    """An Azure Blob Storage server; tests write under prefixes of their own."""
    with running_azure() as server:
        yield server


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    """A server that speaks as Google Cloud Storage; tests write under prefixes of their own."""
    with running_gcs() as server:
        yield server
