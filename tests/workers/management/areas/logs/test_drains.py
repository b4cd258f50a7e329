"""Log lines on their way to receivers that fail, hang and reject, with a real nats-server and a real Postgres."""

import asyncio
import json
import re
import secrets
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from broker import subjects
from broker.compression import compress
from broker.jetstream.durable_consumer import publish
from broker.jetstream.streams import ensure_stream
from broker.logs.lines import encode_record
from broker.nats.connection import NatsConnection
from broker.subject_rights import EDGE_USER, authorization
from broker.subjects import log_lines
from schemas.functions.log_events import LogLine
from schemas.keys.secret import Secret
from schemas.logs import LogBatch, LogRecord
from schemas.settings.logs import LogDrain
from schemas.settings.tree import Settings
from tests.broker.certificate import certificate_for_loopback
from tests.broker.server import running_server
from tests.platforms.webhook_receiver import Receiver, receiver
from tests.workers.database.server import Server, connected, temporary_server
from tests.workers.management.areas.logs.test_keeper import feeding, opened, until
from workers.database.migrations.migrate import migrate
from workers.http_client.client import HttpClient
from workers.management.areas.logs.drains import log_drain
from workers.management.areas.logs.drains.drain_leader import DrainLeader
from workers.management.areas.logs.drains.line_formats import json_lines, loki, otlp, syslog
from workers.management.areas.logs.drains.observations import LogDrainsLost
from workers.management.areas.logs.drains.receivers import HttpReceiver, NotTaken, SyslogReceiver

PASSWORD = Settings().db.password.reveal()
RECORD = LogRecord(
    1_769_860_800_123,
    "warning",
    "pools",
    "JobFailed",
    'A job "failed"',
    area="sql",
    request_id="r-1",
    fields={"job": 3},
)


@pytest.fixture(scope="module")
async def database() -> AsyncIterator[Server]:
    with temporary_server() as server:
        await migrate(server.url(), Settings())
        yield server


@pytest.fixture
async def admin(database: Server) -> AsyncIterator[asyncpg.Connection]:
    async with connected(database.url()) as connection:
        await connection.execute("truncate headwater.log_drains")
        yield connection


@pytest.fixture
async def pool() -> AsyncIterator[NatsConnection]:
    """A connection of a worker, to a server with the streams of lines."""
    async with (
        running_server(
            authorization({EDGE_USER: EDGE_USER, "pool": "pool", "platform": "platform"})
        ) as server,
        opened(server, "pool") as connection,
    ):
        await _streams(connection)
        yield connection


async def _streams(connection: NatsConnection, max_bytes: int = 10_000_000) -> None:
    for name, subject in (
        (subjects.LOGS_STREAM, subjects.LOGS_SUBJECTS),
        (subjects.FUNCTION_LOGS, subjects.FUNCTION_LOGS_SUBJECTS),
    ):
        await ensure_stream(
            connection, name, [subject], max_age_s=3600.0, max_bytes=max_bytes, duplicate_window_s=60.0
        )


@pytest.fixture
def target() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def drain(url: str, **more: Any) -> LogDrain:
    return LogDrain(url=Secret(url), **{"gather": 0.01, "timeout": 2.0, **more})


def leader(database: Server, pool: NatsConnection, **drains: LogDrain) -> DrainLeader:
    one = DrainLeader(database.url("headwater_management", PASSWORD), pool, drains)
    one.begin()
    return one


async def begun(admin: asyncpg.Connection, count: int) -> None:
    async with asyncio.timeout(60):
        while await admin.fetchval("select count(*) from headwater.log_drains") < count:
            await asyncio.sleep(0.02)


def received(target: Receiver, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for event in target.at(path) for line in event.body.splitlines()]


def numbers_received(target: Receiver, path: str) -> list[str]:
    """Return the second words of the messages that begin with `line`."""
    messages = [line["message"].split() for line in received(target, path)]
    return [words[1] for words in messages if words[0] == "line"]


async def test_lines_arrive_over_failures_and_changes_of_the_leader_and_a_hanging_receiver_holds_back_no_other(
    database: Server, admin: asyncpg.Connection, pool: NatsConnection, target: Receiver
):
    drains = {
        "slow": drain(target.url("/slow"), batch=10),
        "quick": drain(
            target.url("/quick"), level="error", labels={"site": "one"}, headers={"X-Key": Secret("k")}
        ),
    }
    target.statuses["/slow"] = [503, 500]
    target.held.add("/slow")
    first = leader(database, pool, **drains)
    await begun(admin, 4)
    line = LogLine(
        at=1.0, level="error", event="log", text="of a function", function="hello", version="v", execution="e"
    )
    async with feeding(pool, "pools") as buffer:
        for number in range(50):
            buffer.add_line("info", f"line {number}", {})
        buffer.add_line("error", "an error", {"code": 7})
        await publish(pool, "logs.functions.hello", msgspec.msgpack.encode(line))
        await until(lambda: len(received(target, "/quick")) >= 2)  # while the other one hangs
        await until(lambda: bool(target.at("/slow")))
        await first.close()
        for number in range(50, 100):
            buffer.add_line("info", f"line {number}", {})
        second = leader(database, pool, **drains)
        target.let_go.set()
        texts = {f"line {number}" for number in range(100)}
        await until(lambda: texts <= {line["message"] for line in received(target, "/slow")})
        await second.close()

    quick = {line["message"]: line for line in received(target, "/quick")}
    assert {*quick} == {"an error", "of a function"}
    assert quick["an error"]["site"] == "one"
    assert (quick["an error"]["fields"], quick["of a function"]["function"]) == ({"code": 7}, "hello")
    assert target.at("/quick")[0].headers["x-key"] == "k"
    rows = await admin.fetch("select drain, lost, error from headwater.log_drains order by drain, stream")
    assert [tuple(row) for row in rows] == [(name, 0, "") for name in ("quick", "quick", "slow", "slow")]


async def test_lines_are_not_sent_again_while_the_database_stores_no_place(
    database: Server, admin: asyncpg.Connection, pool: NatsConnection, target: Receiver
):
    one = leader(database, pool, full=drain(target.url("/full"), functions=False))
    await begun(admin, 1)
    await admin.execute(
        """
        create sequence public.attempts;
        grant usage on sequence public.attempts to headwater_management;
        create function public.full_disk() returns trigger language plpgsql as $$
        begin
          perform nextval('public.attempts');
          raise exception 'No space left on device' using errcode = 'disk_full';
        end $$;
        create trigger full_disk before update on headwater.log_drains execute function public.full_disk();
        """
    )
    async with feeding(pool, "pools") as buffer:
        buffer.add_line("info", "line 1", {})
        async with asyncio.timeout(60):
            while await admin.fetchval("select last_value from public.attempts") < 3:
                await asyncio.sleep(0.02)  # nothing announces an attempt
        await admin.execute("drop function public.full_disk cascade; drop sequence public.attempts")
        buffer.add_line("info", "line 2", {})
        await until(lambda: "2" in numbers_received(target, "/full"))
    await one.close()

    assert numbers_received(target, "/full") == ["1", "2"]


async def test_a_receiver_that_is_away_loses_the_oldest_lines_which_are_counted(
    database: Server, admin: asyncpg.Connection, pool: NatsConnection, target: Receiver
):
    first = leader(database, pool, away=drain(target.url("/away")))
    await begun(admin, 2)
    await first.close()
    await _streams(pool, max_bytes=20_000)
    for number in range(1, 31):
        record = LogRecord(1, "info", "pools", "", f"line {number} {secrets.token_hex(1000)}")
        batch = LogBatch("run", number, "pools", 0, [msgspec.Raw(encode_record(record))])
        await publish(pool, log_lines("pool").name, compress(msgspec.msgpack.encode(batch)))
    second = leader(database, pool, away=drain(target.url("/away")))
    async with asyncio.timeout(60):
        while not (lost := await admin.fetchval("select sum(lost)::int8 from headwater.log_drains")):
            await asyncio.sleep(0.02)  # between two questions: nothing announces the count
    await until(lambda: "30" in numbers_received(target, "/away"))
    await second.close()

    assert [*map(str, range(lost + 1, 31))] == numbers_received(target, "/away")


async def test_lines_of_functions_that_are_missing_are_counted_and_messages_of_the_watch_are_not(
    database: Server, admin: asyncpg.Connection, pool: NatsConnection, target: Receiver
):
    canary = subjects.canary(subjects.FUNCTION_LOGS).name
    await ensure_stream(pool, subjects.FUNCTION_LOGS, [subjects.FUNCTION_LOGS_SUBJECTS, canary])
    one = leader(database, pool, idle=drain(target.url("/idle")))
    await begun(admin, 2)
    for number in (5, 6, 9):
        line = LogLine(1.0, "hello", "v", "e", "info", f"line {number}", run="a", number=number)
        await publish(pool, canary, b"")
        await publish(pool, "logs.functions.hello", msgspec.msgpack.encode(line))
    async with asyncio.timeout(60):
        while not (lost := await admin.fetchval("select sum(lost)::int8 from headwater.log_drains")):
            await asyncio.sleep(0.02)  # between two questions: nothing announces the count
    await one.close()

    assert (lost, numbers_received(target, "/idle")) == (2, ["5", "6", "9"])


async def test_lines_that_a_receiver_rejects_are_dropped_one_by_one(target: Receiver):
    client = HttpClient()
    records = [RECORD] * 4
    target.statuses["/picky"] = [413, 200, 400, 400, 200]
    one = HttpReceiver(drain(target.url("/picky")), client)

    assert await one.send(records) == 1

    assert [len(event.body.splitlines()) for event in target.at("/picky")] == [4, 2, 2, 1, 1]
    for status in (302, 401, 500):
        target.statuses["/picky"] = [status]
        with pytest.raises(NotTaken, match=str(status)):
            await one.send(records)
    target.statuses["/picky"] = [413, 400, 400, 200, 400, 503]
    with pytest.raises(NotTaken) as caught:
        await one.send(records)
    assert (caught.value.done, caught.value.rejected) == (2, 1)
    await client.close()


async def test_a_stream_that_stays_away_is_reported_and_read_from_its_first_line_when_it_comes(
    database: Server, admin: asyncpg.Connection, target: Receiver, monkeypatch: pytest.MonkeyPatch
):
    del admin
    observed: list[object] = []
    monkeypatch.setattr(log_drain, "observe", observed.append)
    monkeypatch.setattr(log_drain, "_LAST_PAUSE_S", log_drain._FIRST_PAUSE_S)
    async with running_server() as server, opened(server, "pool") as connection:
        one = leader(database, connection, idle=drain(target.url("/idle")))
        async with asyncio.timeout(60):
            while not observed:
                await asyncio.sleep(0.02)  # between two attempts: nothing announces them
        await _streams(connection)
        async with feeding(connection, "pools") as buffer:
            buffer.add_line("info", "line 1", {})
        await until(lambda: numbers_received(target, "/idle") == ["1"])
        await one.close()

    assert "stream not found" in str(observed[0])
    assert isinstance(observed[0], LogDrainsLost)


@pytest.mark.parametrize(("form", "path"), [("otlp", "/v1/logs"), ("loki", "/loki/api/v1/push")])
async def test_an_address_without_a_path_means_the_usual_one(target: Receiver, form: str, path: str):
    client = HttpClient()
    await HttpReceiver(drain(target.url(""), format=form), client).send([RECORD])
    await client.close()

    [event] = target.at(path)
    assert event.headers["content-type"] == "application/json"


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
async def test_syslog_goes_over_a_connection_that_is_opened_again(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    frames: asyncio.Queue[bytes] = asyncio.Queue()
    writers: list[asyncio.StreamWriter] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while True:
                length = int((await reader.readuntil(b" "))[:-1])
                frames.put_nowait(await reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    context = None
    if scheme == "tls":
        certificate = certificate_for_loopback(tmp_path)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, tmp_path / "key.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    one = SyslogReceiver(drain(f"{scheme}://127.0.0.1:{port}", format="syslog", labels={"site": 'a"]'}))

    await one.send([RECORD, RECORD])
    first = [await frames.get(), await frames.get()]
    writers[0].close()
    await writers[0].wait_closed()
    await until(lambda: one._stream is None or one._stream[0].at_eof())
    await one.send([RECORD])
    await frames.get()
    await one.close()
    server.close()

    assert re.fullmatch(
        rb"<132>1 2026-01-31T12:00:00\.123Z \S+ headwater pools JobFailed"
        rb' \[headwater@32473 area="sql" request_id="r-1" site="a\\"\\\]"\] A job "failed" {"job":3}',
        first[0],
    ), first[0]
    with pytest.raises(NotTaken):
        await SyslogReceiver(drain(f"{scheme}://127.0.0.1:1", format="syslog")).send([RECORD])


async def test_syslog_goes_by_datagrams_that_are_cut():
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    class Datagrams(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            arrived.put_nowait(data)

    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, local_addr=("127.0.0.1", 0)
    )
    port = transport.get_extra_info("sockname")[1]
    long = LogRecord(0, "info", "", "", "x" * 20_000)

    await SyslogReceiver(drain(f"udp://127.0.0.1:{port}", format="syslog")).send([RECORD, long])

    assert (await arrived.get()).startswith(b"<132>1 ")
    assert len(await arrived.get()) == 8192
    transport.close()


def test_the_forms_say_what_their_receivers_read():
    [line] = json_lines([RECORD], {}).splitlines()
    [resource] = json.loads(otlp([RECORD], {"site": "one"}))["resourceLogs"]
    [record] = resource["scopeLogs"][0]["logRecords"]
    [stream] = json.loads(loki([RECORD], {"site": "one"}))["streams"]

    assert json.loads(line)["timestamp"] == "2026-01-31T12:00:00.123Z"
    assert {"key": "site", "value": {"stringValue": "one"}} in resource["resource"]["attributes"]
    assert (record["timeUnixNano"], record["severityNumber"]) == ("1769860800123000000", 13)
    assert {"key": "headwater.field.job", "value": {"intValue": "3"}} in record["attributes"]
    assert stream["stream"] == {
        "service_name": "headwater", "process": "pools", "level": "warning", "area": "sql", "site": "one"
    }  # fmt: skip
    assert stream["values"][0][0] == "1769860800123000000"
    assert json.loads(stream["values"][0][1])["message"] == 'A job "failed"'
    assert (
        syslog(LogRecord(0, "error", "", "", "näh"), {}, "h\n")
        == "<131>1 1970-01-01T00:00:00.000Z h_ headwater - - - näh".encode()
    )
