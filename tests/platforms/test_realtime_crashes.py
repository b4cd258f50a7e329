"""Row changes over sockets while parts of the platform die: whoever resumes gets every committed change, in order, none twice."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from schemas.changes import Position
from tests.child_environment import environment_of
from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of
from tests.platforms.realtime_followers import PATIENCE_S, Follower, Writer, following, kill, published

pytestmark = [pytest.mark.process_group("realtime crashes"), pytest.mark.timeout(400)]

_WRITES, _KILLS, _STANDBYS = 20_000, 10, 2
_LEADS = b'"ReplicationStarted"'


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform whose parts are to be killed."""
    with platform() as one:
        yield one


@pytest.fixture
async def writer(running_platform: Platform) -> AsyncIterator[Writer]:
    """Somebody who writes."""
    one = Writer(running_platform.values["DB_URL"])
    yield one
    await one.close()


class Readers:
    """Three processes of which one reads the log at a time: that of the platform, and two that stand by."""

    def __init__(self, running_platform: Platform, folder: Path) -> None:
        self._place, self._folder = running_platform, folder
        child = psutil.Process(pid_of(running_platform, "changes"))
        self._environment = environment_of(running_platform, "changes")
        self._started: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._reader = child.pid
        self._log, self._read = running_platform.data / "logs" / "changes.log", 0
        self.killed: list[int] = []
        self._refill()

    async def kill_one(self) -> None:
        """Wait until one reads, and kill it; one more stands by in its place."""
        async with asyncio.timeout(PATIENCE_S):
            while (reader := self._found()) is None:
                await asyncio.sleep(0.02)
        self._read = len(
            self._log.read_bytes()
        )  # what the next process of the platform says stands behind it
        os.kill(reader, signal.SIGKILL)
        self.killed.append(reader)
        self._refill()

    def close(self) -> None:
        """End those that are no part of the platform."""
        for process, _ in self._started:
            process.kill()
            process.wait()

    def _found(self) -> int | None:
        """Give who says that it leads and was not killed."""
        if not self.killed:
            return self._reader
        logs = [(process.pid, log.read_bytes()) for process, log in self._started]
        with contextlib.suppress(StopIteration):  # about to be started again
            logs.append((pid_of(self._place, "changes"), self._log.read_bytes()[self._read :]))
        leading = [pid for pid, log in logs if pid not in self.killed and _LEADS in log]
        return leading[-1] if leading else None

    def _refill(self) -> None:
        alive = [
            process
            for process, _ in self._started
            if process.poll() is None and process.pid not in self.killed
        ]
        for _ in range(_STANDBYS - len(alive)):
            log = self._folder / f"standby-{len(self._started)}.log"
            with log.open("wb") as file:
                command = [sys.executable, "-P", "-m", "workers", "replication"]
                process = subprocess.Popen(command, env=self._environment, stderr=file, stdout=file)
            self._started.append((process, log))


async def hanging_up(follower: Follower) -> None:
    """Break the connection of a follower again and again."""
    while True:
        await asyncio.sleep(random.uniform(0.05, 1.0))
        await follower.hang_up()


async def test_ten_killed_readers_of_the_log_lose_and_double_nothing(
    running_platform: Platform, writer: Writer, tmp_path: Path
) -> None:
    table = await published(writer)
    entry = {"event": "*", "schema": "public", "table": table}
    steady, hasty = Follower(running_platform, entry), Follower(running_platform, entry)
    odd = Follower(running_platform, {**entry, "filter": "body=eq.odd"})
    kills = sorted(random.sample(range(500, _WRITES - 500), _KILLS))
    readers = Readers(running_platform, tmp_path)
    try:
        async with following(steady, hasty, odd):
            breaking = asyncio.ensure_future(hanging_up(hasty))
            number = 0
            while number < _WRITES:
                many = random.choice((1, 1, 1, 7, 900)) if number % 4 == 0 else 1
                many = min(many, _WRITES - number)
                assert await writer.run(
                    f"insert into {table} select n, null, case when n % 2 = 1 then 'odd' else 'even' end"
                    " from generate_series($1::int, $2::int) n",
                    number,
                    number + many - 1,
                )
                number += many
                if kills and number >= kills[0]:
                    kills.pop(0)
                    await readers.kill_one()
            breaking.cancel()
            for each in (steady, hasty):
                await each.until(lambda e=each: len(e.changes) >= _WRITES, "not all came")  # type: ignore[misc]  # bound now
            await odd.until(lambda: len(odd.changes) >= _WRITES // 2, "not all came")
    finally:
        readers.close()

    assert len(readers.killed) == _KILLS
    assert steady.ids == list(range(_WRITES))
    assert hasty.ids == list(range(_WRITES))
    assert odd.ids == list(range(1, _WRITES, 2))
    assert (steady.gaps, hasty.gaps, odd.gaps) == ([], [], [])
    assert (steady.joins, odd.joins) == (1, 1), (steady.endings, odd.endings, steady.errors)
    assert hasty.joins > 3


@pytest.mark.parametrize(("part", "breaks_sockets"), [("nats", False), ("postgres", False), ("edges", True)])
async def test_a_killed_part_loses_and_doubles_nothing(
    running_platform: Platform, writer: Writer, part: str, breaks_sockets: bool
) -> None:
    table = await published(writer)
    entry = {"event": "*", "schema": "public", "table": table}
    followers = [Follower(running_platform, entry) for _ in range(3)]
    acknowledged = []

    async with following(*followers):
        for number in range(1500):
            if number in (300, 900):
                await kill(running_platform, part)
            if await writer.run(f"insert into {table} values ($1)", number):
                acknowledged.append(number)
        written = sorted(await writer.fetch(f"select id from {table}"))
        for each in followers:
            await each.until(lambda e=each: e.changes and e.ids[-1] == written[-1], "the last did not come")  # type: ignore[misc]  # bound now

    assert set(acknowledged) <= set(written)
    for each in followers:
        assert each.ids == written
        assert each.gaps == []
        assert (each.joins > 1) is breaks_sockets


async def test_a_part_that_is_away_makes_no_one_forget(running_platform: Platform, writer: Writer) -> None:
    table = await published(writer)
    entry = {"event": "*", "schema": "public", "table": table}
    follower = Follower(running_platform, entry)

    async with following(follower):
        for number in range(200):
            assert await writer.run(f"insert into {table} values ($1)", number)
            if number == 50:  # all at once
                await kill(running_platform, "changes", "nats", "edges")
        await follower.until(lambda: len(follower.changes) >= 200, "not all came")

    assert follower.ids == list(range(200))
    assert follower.gaps == []


async def test_a_heartbeat_tells_who_hears_nothing_where_to_resume(
    running_platform: Platform, writer: Writer
) -> None:
    table, other = await published(writer), await published(writer)
    entries = [{"event": "*", "schema": "public", "table": name} for name in (table, other)]
    key = running_platform.values["ANON_KEY"]
    url = f"{running_platform.url}/realtime/v1/websocket?vsn=2.0.0&apikey={key}"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:

        async def until(event: str, topic: str) -> dict[str, Any]:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    frame = json.loads((await socket.receive()).data)
                    if frame[2:4] == [topic, event]:
                        return dict(frame[4])

        async def beat() -> dict[str, Any]:
            await socket.send_json([None, "9", "phoenix", "heartbeat", {}])
            return dict((await until("phx_reply", "phoenix"))["response"])

        for number, entry in enumerate(entries):
            name = f"realtime:{number}"
            await socket.send_json([name, name, name, "phx_join", {"config": {"postgres_changes": [entry]}}])
            begun = await until("system", name)
            assert begun["position"]
        first, second = await beat(), await beat()
        assert await writer.run(f"insert into {other} values (1)")
        change = (await until("postgres_changes", "realtime:1"))["data"]
        third = await beat()

    assert first["positions"].keys() == {"realtime:0", "realtime:1"}
    assert second == {}
    # Nothing happened to the first table; its position is as fresh as that of the other all the same.
    assert Position.parse(third["positions"]["realtime:0"]) >= Position.parse(change["position"])
    assert Position.parse(third["positions"]["realtime:1"]) >= Position.parse(change["position"])


async def test_who_comes_back_far_behind_is_sent_what_it_missed_as_fast_as_it_reads(
    running_platform: Platform, writer: Writer
) -> None:
    table, many = await published(writer), 3000
    entry = {"event": "*", "schema": "public", "table": table}
    quick = Follower(running_platform, entry)
    async with following(quick):
        pass
    config = {"postgres_changes": [entry], "resume": quick.position}
    for number in range(0, many, 300):  # 24 MB, three times what may wait for a socket
        rows = (
            f"insert into {table} select n, null, repeat('x', 8000) from generate_series($1::int, $2::int) n"
        )
        assert await writer.run(rows, number, number + 299)

    url = (
        f"{running_platform.url}/realtime/v1/websocket?vsn=2.0.0&apikey={running_platform.values['ANON_KEY']}"
    )
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as slow:
        await slow.send_json(["1", "1", "realtime:slow", "phx_join", {"config": config}])
        async with following(quick):  # reads all of it while the other reads nothing
            await quick.until(lambda: len(quick.changes) >= many, "not all came")
        ids, told = [], []
        async with asyncio.timeout(PATIENCE_S):
            while len(ids) < many:
                message = await slow.receive()
                assert message.type is aiohttp.WSMsgType.TEXT, message
                event, payload = json.loads(message.data)[3:]
                if event == "postgres_changes":
                    ids.append(payload["data"]["record"]["id"])
                elif event == "system":
                    told.append(payload["message"])

    assert quick.ids == ids == list(range(many))
    assert told == []
    assert quick.gaps == []
