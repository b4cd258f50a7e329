"""Whichever process of a platform is killed: what was acknowledged is stored once, and the platform heals by itself."""

import asyncio
import itertools
import json
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from services.supervisor.processes.forks import is_supported
from tests.platform import Platform, platform

pytestmark = [pytest.mark.process_group("kills"), pytest.mark.timeout(300)]

_HEALS_S = 90
_SERVED_IN_A_ROW = 5
_PROCESSES = ("pools", "edges", "changes", "images", "functions", "nats", "postgres")
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def killed() -> Iterator[Platform]:
    with platform() as running_platform:
        running_platform.psql(
            "create table public.kept (id int, note text); grant select, insert on public.kept to anon"
        )
        running_platform.wait_for_catalog("kept")
        yield running_platform


def child(running_platform: Platform, name: str) -> dict[str, object]:
    children: list[dict[str, object]] = json.loads((running_platform.data / "state.json").read_text())[
        "children"
    ]
    return next(each for each in children if each["name"] == name)


@dataclass(slots=True)
class Traffic:
    """One writer and one reader, and what they were answered."""

    session: aiohttp.ClientSession
    url: str
    acknowledged: list[int] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    in_a_row: int = 0

    async def write(self) -> None:
        while True:
            number = next(_numbers)
            try:
                async with self.session.post(self.url, json={"id": number}) as answer:
                    status = answer.status
            except aiohttp.ClientError:
                status = 0
            if status == 201:
                self.acknowledged.append(number)
            elif status == 503:
                self.rejected.append(number)
            await self._read(written=status == 201)

    async def _read(self, *, written: bool) -> None:
        try:
            async with self.session.get(f"{self.url}?id=eq.0") as answer:
                is_served = written and answer.status == 200
        except aiohttp.ClientError:
            is_served = False
        self.in_a_row = self.in_a_row + 1 if is_served else 0
        await asyncio.sleep(0)

    async def served(self) -> None:
        """Wait until several writes and reads in a row are answered well, from now on."""
        self.in_a_row = 0
        async with asyncio.timeout(_HEALS_S):
            while self.in_a_row < _SERVED_IN_A_ROW:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def traffic(running_platform: Platform) -> AsyncIterator[Traffic]:
    key = running_platform.values["ANON_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(60)) as session:
        under_way = Traffic(session, f"{running_platform.url}/rest/v1/kept")
        writing = asyncio.create_task(under_way.write())
        try:
            await under_way.served()
            yield under_way
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


async def kill(running_platform: Platform, name: str) -> None:
    """Kill a process and wait until the supervisor runs another one in its place."""
    before = child(running_platform, name)
    os.kill(int(str(before["pid"])), signal.SIGKILL)
    async with asyncio.timeout(_HEALS_S):
        while (now := child(running_platform, name))["restarts"] == before["restarts"] or now[
            "status"
        ] != "running":
            await asyncio.sleep(0.02)
    assert now["pid"] != before["pid"]


@pytest.mark.parametrize("name", _PROCESSES)
async def test_what_was_acknowledged_is_stored_once_and_all_is_served_again(
    killed: Platform, name: str
) -> None:
    async with traffic(killed) as under_way:
        await kill(killed, name)
        await under_way.served()

    stored = killed.psql("select id || 'x' || count(*) from public.kept group by id")
    counts = dict(re.findall(r"\b(\d+)x(\d+)\b", stored))
    assert {counts.get(str(number)) for number in under_way.acknowledged} == {"1"}
    assert not {str(number) for number in under_way.rejected} & counts.keys()


@pytest.mark.skipif(not is_supported(), reason="there is a fork server on Linux alone")
async def test_a_killed_fork_server_disturbs_no_process_and_the_next_one_forks(killed: Platform) -> None:
    before = {name: child(killed, name)["pid"] for name in _PROCESSES}
    async with traffic(killed) as under_way:
        await kill(killed, "fork-server")
        await under_way.served()
        assert {name: child(killed, name)["pid"] for name in _PROCESSES} == before
        await kill(killed, "pools")
        await under_way.served()

    status = killed.command("status").stdout
    assert any("fork-server" in line and "running" in line for line in status.splitlines())


@pytest.mark.skipif(not is_supported(), reason="elsewhere the edges open their socket themselves")
async def test_a_connection_that_comes_while_no_edge_runs_waits_for_the_next_one(killed: Platform) -> None:
    key = killed.values["ANON_KEY"]
    before = child(killed, "edges")
    os.kill(int(str(before["pid"])), signal.SIGKILL)
    while os.path.exists(f"/proc/{before['pid']}/exe"):
        await asyncio.sleep(0)
    with socket.create_connection(("127.0.0.1", killed.port), timeout=_HEALS_S) as connection:
        asked = f"GET /rest/v1/kept?limit=1 HTTP/1.1\r\nHost: x\r\napikey: {key}\r\nConnection: close\r\n\r\n"
        connection.sendall(asked.encode())
        reply = await asyncio.to_thread(connection.recv, 1024)

    assert reply.startswith(b"HTTP/1.1 200")


@pytest.mark.skipif(not is_supported(), reason="programs are forked on Linux alone")
def test_the_fork_server_has_no_password_in_its_environment(killed: Platform) -> None:
    with open(f"/proc/{child(killed, 'fork-server')['pid']}/environ", "rb") as file:
        environment = file.read()

    secrets = [
        *json.loads((killed.data / "passwords.json").read_text()).values(),
        killed.values["JWT_SECRET"],
    ]
    assert secrets
    assert not any(secret.encode() in environment for secret in secrets)
