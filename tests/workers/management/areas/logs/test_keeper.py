"""Log lines on their way from processes into the store, with a real nats-server that is killed, and files that are full."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest

from broker import subjects
from broker.codec import encode
from broker.compression import compress
from broker.jetstream.durable_consumer import publish
from broker.jetstream.streams import delete_stream, ensure_stream, stream_head
from broker.logs import search
from broker.logs.query import LogFilter
from broker.logs.store import LogStore, StoreLimits
from broker.nats.connection import NatsConnection
from broker.observability.log_buffer import LogBuffer
from broker.observability.log_feed import LogFeed
from broker.subject_rights import EDGE_USER, authorization
from schemas.functions.log_events import LogLine
from schemas.logs import LogBatch, LogRecord
from schemas.settings.log import LogStoreSettings
from tests.broker.server import NatsServer, running_server
from workers.management.areas.logs import keeper as keeper_module
from workers.management.areas.logs.keeper import LogKeeper, LogLinesLost

SETTINGS = LogStoreSettings()
LIMITS = StoreLimits(10**9, 1 << 40, 0)


@pytest.fixture
async def nats_server() -> AsyncIterator[NatsServer]:
    """A nats-server with the rights of the platform, which the test may kill and start again."""
    async with running_server(
        authorization({EDGE_USER: EDGE_USER, "pool": "pool", "platform": "platform"})
    ) as server:
        yield server


@pytest.fixture
async def pool(nats_server: NatsServer) -> AsyncIterator[NatsConnection]:
    """A connection of a worker."""
    async with opened(nats_server, "pool") as connection:
        yield connection


@pytest.fixture
async def edge(nats_server: NatsServer) -> AsyncIterator[NatsConnection]:
    """A connection of an edge."""
    async with opened(nats_server, EDGE_USER) as connection:
        yield connection


@contextlib.asynccontextmanager
async def opened(server: NatsServer, user: str) -> AsyncIterator[NatsConnection]:
    connection = await NatsConnection.open(server.url_of(user, user), name=user, max_reconnect_wait=0.1)
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def keeping(
    connection: NatsConnection, folder: Path, store: LogStore | None = None
) -> AsyncIterator[LogKeeper]:
    keeper = LogKeeper(connection, SETTINGS, store or LogStore(folder, LIMITS), gather_s=0.01)
    keeper.start()
    try:
        yield keeper
    finally:
        await keeper.close()


@contextlib.asynccontextmanager
async def feeding(connection: NatsConnection, process: str = "edges") -> AsyncIterator[LogBuffer]:
    buffer = LogBuffer(process, SETTINGS)
    feed = LogFeed(connection, buffer, every_s=0.02)
    feed.start()
    try:
        yield buffer
    finally:
        await feed.close()


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0.02)


def texts(folder: Path) -> list[str]:
    lines, cursor = list[str](), ""
    while True:
        page = search.search(folder, LogFilter(), 1000, cursor)
        lines += [line.record.text for line in page.lines]
        if not (cursor := page.next):
            return lines


async def test_lines_of_edges_and_workers_arrive_once(
    pool: NatsConnection, edge: NatsConnection, tmp_path: Path
) -> None:
    async with keeping(pool, tmp_path), feeding(edge) as edges, feeding(pool, "pools") as pools:
        for number in range(2500):
            edges.add_line("info", f"edge {number}", {"id": "r-1"})
            pools.add_line("error", f"pool {number}", {"pool": "rest"})
        await until(lambda: search.store_state(tmp_path).lines >= 5000)

    expected = [f"{name} {number}" for name in ("edge", "pool") for number in range(2500)]
    assert sorted(texts(tmp_path)) == sorted(expected)
    assert len(search.lines_of_request(tmp_path, "r-1").lines) == 2000


async def test_kills_of_nats_and_of_the_store_lose_and_repeat_nothing(
    nats_server: NatsServer, pool: NatsConnection, edge: NatsConnection, tmp_path: Path
) -> None:
    written = 0
    async with feeding(edge) as buffer:
        for round_number in range(4):
            async with keeping(pool, tmp_path) as keeper:
                for _ in range(200):
                    buffer.add_line("info", f"line {written}", {})
                    written += 1
                    if written % 20 == 0:
                        await asyncio.sleep(0)
                await until(lambda keeper=keeper: keeper.stored > 0)  # type: ignore[misc]  # a default in a lambda has no type
                for _ in range(200):
                    buffer.add_line("info", f"line {written}", {})
                    written += 1
                if round_number % 2 == 0:
                    nats_server.kill()
                    await nats_server.start()
                    await pool.connected()
        async with keeping(pool, tmp_path):
            await until(lambda: search.store_state(tmp_path).lines >= written)

    assert sorted(texts(tmp_path)) == sorted(f"line {number}" for number in range(written))


async def test_a_batch_that_is_sent_again_is_stored_once(pool: NatsConnection, tmp_path: Path) -> None:
    def batch(number: int, text: str, dropped: int = 0) -> bytes:
        record = msgspec.msgpack.encode(LogRecord(1, "info", "edges", "", text))
        return compress(
            msgspec.msgpack.encode(LogBatch("run", number, "host:1", dropped, [msgspec.Raw(record)]))
        )

    subject = subjects.log_lines("pool").name
    async with keeping(pool, tmp_path) as keeper:
        await until_stream(pool)
        for payload in (
            batch(1, "first"),
            batch(1, "first again"),
            b"no batch",
            compress(b"no batch either"),
            batch(2, "second", dropped=7),
            batch(1, "first once more"),
            batch(5, "fifth"),
        ):
            await publish(pool, subject, payload)
        await until(lambda: keeper.stored >= 5)

    assert sorted(texts(tmp_path)) == [
        "2 batches of lines left the stream before they were stored",
        "7 lines were dropped, because more were written than could be sent",
        "fifth",
        "first",
        "second",
    ]


async def until_stream(connection: NatsConnection) -> None:
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(Exception):
                await stream_head(connection, subjects.LOGS_STREAM)
                return
            await asyncio.sleep(0.02)


async def test_what_a_function_prints_is_text_and_nothing_else(pool: NatsConnection, tmp_path: Path) -> None:
    printed = '{"level":"error","area":"auth","process":"edges","request_id":"forged","kind":"HandlerFailed"}'
    lines = [
        LogLine(1000.5, "hello", "1", "e", "info", printed, "r-9"),
        LogLine(float("nan"), "hello", "1", "e", "fatal", "a\nb\x1b[2J\x00", ""),
        LogLine(1e300, "hello", "1", "e", "error", "x" * 10_000, "r-9"),
    ]
    await ensure_stream(pool, subjects.FUNCTION_LOGS, [subjects.FUNCTION_LOGS_SUBJECTS])
    async with keeping(pool, tmp_path) as keeper:
        for line in lines:
            await publish(pool, subjects.function_log("hello").name, encode(line))
        await publish(pool, subjects.function_log("hello").name, b"\xc1")
        await until(lambda: keeper.stored >= 3)

    stored = search.search(tmp_path, LogFilter(function="hello"), 10).lines
    assert {line.record.text for line in stored} == {line.text for line in lines}
    assert {(line.record.area, line.record.process) for line in stored} == {("functions", "functions")}
    assert search.lines_of_request(tmp_path, "forged").lines == []
    assert len(search.lines_of_request(tmp_path, "r-9").lines) == 2
    assert search.search(tmp_path, LogFilter(area="auth"), 10).lines == []


async def test_a_full_disk_keeps_lines_in_the_stream(
    pool: NatsConnection, edge: NatsConnection, tmp_path: Path
) -> None:
    free = [0]
    store = LogStore(tmp_path, StoreLimits(10**9, 1 << 40, 1), free_space=lambda _: free[0])
    async with keeping(pool, tmp_path, store) as keeper, feeding(edge) as buffer:
        for number in range(50):
            buffer.add_line("info", f"line {number}", {})
        await until(lambda: bool(keeper._reason))
        assert buffer.waiting == 0 or keeper.stored == 0
        free[0] = 10**9
        await until(lambda: keeper.stored == 50)

    assert len(texts(tmp_path)) == 50


async def test_a_second_process_takes_over_the_store(
    pool: NatsConnection, nats_server: NatsServer, edge: NatsConnection, tmp_path: Path
) -> None:
    async with opened(nats_server, "pool") as other, feeding(edge) as buffer:
        async with keeping(pool, tmp_path) as first:
            buffer.add_line("info", "one", {})
            await until(lambda: first.stored == 1)
            second = LogKeeper(other, SETTINGS, LogStore(tmp_path, LIMITS), gather_s=0.01)
            second.start()
            buffer.add_line("info", "two", {})
            await until(lambda: first.stored == 2)
        buffer.add_line("info", "three", {})
        await until(lambda: second.stored == 1)
        await second.close()

    assert sorted(texts(tmp_path)) == ["one", "three", "two"]


async def test_a_stream_that_was_created_again_is_read_from_its_start(
    nats_server: NatsServer, pool: NatsConnection, edge: NatsConnection, tmp_path: Path
) -> None:
    async with opened(nats_server, "platform") as operator, feeding(edge) as buffer:
        async with keeping(pool, tmp_path) as keeper:
            for text in ("one", "two"):
                buffer.add_line("info", text, {})
                await until(lambda: buffer.waiting == 0)
            await until(lambda: keeper.stored == 2)
        await delete_stream(operator, subjects.LOGS_STREAM)
        async with keeping(pool, tmp_path) as keeper:
            buffer.add_line("info", "three", {})
            await until(lambda: keeper.stored == 1)

    assert sorted(texts(tmp_path)) == ["one", "three", "two"]


async def test_lines_that_left_the_stream_are_reported_once_and_the_next_are_stored(
    nats_server: NatsServer, pool: NatsConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[object] = []
    monkeypatch.setattr(
        keeper_module, "observe", lambda seen: lost.append(seen) if isinstance(seen, LogLinesLost) else None
    )

    async def print_lines(*printed: str) -> None:
        for text in printed:
            line = LogLine(time.time(), "hello", "1", "e", "info", text, "")
            await publish(pool, subjects.function_log("hello").name, encode(line))

    await ensure_stream(pool, subjects.FUNCTION_LOGS, [subjects.FUNCTION_LOGS_SUBJECTS])
    async with keeping(pool, tmp_path) as keeper:
        await print_lines("one")
        await until(lambda: keeper.stored == 1)
    await print_lines("two", "three")
    async with opened(nats_server, "platform") as operator:
        await operator.request(f"$JS.API.STREAM.PURGE.{subjects.FUNCTION_LOGS}", b"")
    await print_lines("four")
    async with keeping(pool, tmp_path) as keeper:
        await until(lambda: keeper.stored == 1)
        await print_lines("five")
        await until(lambda: keeper.stored == 2)

    assert sorted(texts(tmp_path)) == ["five", "four", "one"]
    assert lost == [LogLinesLost(subjects.FUNCTION_LOGS)]


async def test_without_a_broker_lines_are_dropped_and_counted_and_the_process_goes_on(
    nats_server: NatsServer, pool: NatsConnection, tmp_path: Path
) -> None:
    buffer = LogBuffer("pools", SETTINGS, most_bytes=50_000)
    feed = LogFeed(pool, buffer, every_s=0.02)
    async with keeping(pool, tmp_path):
        await until_stream(pool)
        feed.start()
        nats_server.kill()
        for number in range(5000):
            buffer.add_line("info", f"line {number}", {})
        dropped = buffer.dropped_total
        assert dropped > 1000
        await nats_server.start()
        await until(lambda: any(str(dropped) in text for text in texts(tmp_path)))
        await feed.close()

    assert f"{dropped} lines were dropped, because more were written than could be sent" in texts(tmp_path)
    assert "line 0" in texts(tmp_path)


async def test_lines_that_the_broker_never_takes_are_counted(tmp_path: Path) -> None:
    async with running_server("max_payload: 4096") as server:
        connection = await NatsConnection.open(server.url, name="all")
        async with keeping(connection, tmp_path), feeding(connection) as buffer:
            await until_stream(connection)
            buffer.add_line("info", "noise", {"reason": random.Random(1).randbytes(6000).hex()})
            await until(lambda: buffer.dropped_total == 1 and buffer.waiting == 0)
            buffer.add_line("info", "plain", {})
            await until(lambda: "plain" in texts(tmp_path))
        await connection.close()

    assert "1 lines were dropped, because more were written than could be sent" in texts(tmp_path)
