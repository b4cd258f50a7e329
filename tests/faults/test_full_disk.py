"""A full disk: what was acknowledged is there, requests say why they fail, and all works again by itself when there is room.

Row changes go on within ten seconds of free space, none lost, none twice; mails are refused at once with the reason, and
taken again afterwards.
"""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.faults.full_disk import SmallDisk, small_disk
from tests.platform import Platform, free_port, headwater

pytestmark = [pytest.mark.process_group("full-disk"), pytest.mark.timeout(240)]

_MEGABYTES = 420
_HEALS_S = 60
"""Generous: a loaded machine starts nats-server slowly. What is measured stands in tests/bench."""
_ANSWERED_S = 10
_TABLE = """
create table public.measured (id bigserial primary key, note text not null);
alter table public.measured enable row level security;
create policy everyone on public.measured for select using (true);
grant select on public.measured to anon;
alter publication supabase_realtime add table public.measured;
"""


@dataclass
class SmallDiskPlatform:
    """A platform on a small disk."""

    disk: SmallDisk
    running_platform: Platform
    written: set[int] = field(default_factory=set)

    @property
    def service(self) -> dict[str, str]:
        return {
            "apikey": self.running_platform.values["SERVICE_ROLE_KEY"],
            "content-type": "application/json",
        }


@pytest.fixture(scope="module")
def place() -> Iterator[SmallDiskPlatform]:
    with small_disk(_MEGABYTES) as disk:
        project, data, port = disk.path / "project", disk.path / "data", free_port()
        project.mkdir()
        words = ("--data", str(data), "--project", str(project), "--port", str(port))
        started = headwater("start", "--detach", *words)
        assert started.returncode == 0, started.stderr
        try:
            values = json.loads(headwater("status", "-o", "json", "--data", str(data)).stdout)
            running_platform = Platform(data, port, 0, values)
            running_platform.psql(_TABLE)
            running_platform.wait_for_catalog("measured")
            yield SmallDiskPlatform(disk, running_platform)
        finally:
            disk.free()
            headwater("stop", "--data", str(data))


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ANSWERED_S)) as session:
        yield session


class Changes:
    """Follows the inserts of a table over server-sent events, and comes back where it was."""

    def __init__(self, running_platform: Platform) -> None:
        self._house = running_platform
        self._position = ""
        self.ids: list[int] = []
        self.is_live = asyncio.Event()

    async def run(self) -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ConnectionError):
                async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
                    await self._follow(session)
            await asyncio.sleep(0.1)

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        headers = {"apikey": self._house.values["ANON_KEY"]}
        if self._position:
            headers["Last-Event-ID"] = self._position
        url = f"{self._house.url}/realtime/v1/changes?table=measured"
        async with session.get(url, headers=headers) as answer:
            if answer.status != 200:
                return
            event: dict[str, str] = {}
            async for raw in answer.content:
                name, _, value = raw.decode().rstrip("\n").partition(":")
                if name:
                    event[name] = value.removeprefix(" ")
                    continue
                self.is_live.set()
                self._position = event.get("id", self._position)
                if "data" in event and event.get("event", "message") == "message":
                    self.ids.append(int(json.loads(event["data"])["record"]["id"]))
                event = {}


async def _until(holds: Callable[[], Any], what: str, within_s: float = _HEALS_S) -> None:
    try:
        async with asyncio.timeout(within_s):
            while not await _value(holds):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(what) from None


async def _value(holds: Callable[[], Any]) -> Any:
    value = holds()
    return await value if asyncio.iscoroutine(value) else value


async def _ready(client: aiohttp.ClientSession, place: SmallDiskPlatform) -> dict[str, str]:
    async with client.get(f"{place.running_platform.url}/health/ready") as answer:
        told = await answer.json()
    return {"status": str(answer.status), **told["parts"]}


async def _write(client: aiohttp.ClientSession, place: SmallDiskPlatform, note: str, rows: int = 1) -> int:
    """Insert rows; note those that were acknowledged and return the status."""
    url = f"{place.running_platform.url}/rest/v1/measured?select=id"
    headers = {**place.service, "Prefer": "return=representation"}
    async with client.post(url, json=[{"note": note}] * rows, headers=headers) as answer:
        if answer.status == 201:
            place.written.update(row["id"] for row in await answer.json())
        return answer.status


async def test_row_changes_go_on_by_themselves_when_a_full_disk_has_room_again(
    place: SmallDiskPlatform, client: aiohttp.ClientSession
) -> None:
    changes = Changes(place.running_platform)
    following = asyncio.create_task(changes.run())
    try:
        await asyncio.wait_for(changes.is_live.wait(), _HEALS_S)
        assert await _write(client, place, "before", 10) == 201
        place.disk.fill()
        answers = [await _write(client, place, "x" * 3000, 5) for _ in range(20)]
        await _until(
            lambda: _faulty(client, place, "stream CHANGES"), "/health/ready does not name the stream"
        )
        status, doctor = (
            place.running_platform.command("status").stdout,
            place.running_platform.command("doctor"),
        )
        place.disk.free()
        await _until(lambda: _written(client, place, "after"), "rows are not stored again")
        await _until(lambda: place.written <= set(changes.ids), "changes are missing")

        await _until(lambda: _is_ready(client, place), "the platform is not ready again")
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    assert set(answers) <= {201, 503}
    assert "stream CHANGES does not store: no space left on device" in status
    assert (doctor.returncode, "stream CHANGES" in doctor.stdout) == (1, True)
    assert len(changes.ids) == len(set(changes.ids)), "changes came twice"
    assert _supervised(place, "nats is restarted: stream CHANGES does not store")
    rows = place.running_platform.psql("select count(*) from measured")
    assert str(len(place.written)) in rows, "an acknowledged row is missing, or one more is there"


async def test_mails_are_refused_at_once_with_the_reason_and_taken_when_there_is_room(
    place: SmallDiskPlatform, client: aiohttp.ClientSession
) -> None:
    await _until(lambda: _is_ready(client, place), "the platform is not ready")
    assert (await _request_code(client, place))[0] == 200
    place.disk.fill()
    async with asyncio.timeout(_HEALS_S):
        while (refused := await _request_code(client, place))[0] == 200:
            pass
    place.disk.free()
    await _until(lambda: _taken(client, place), "mails are not taken again")
    await _until(lambda: _is_ready(client, place), "the platform is not ready again")

    status, body, took_s = refused
    assert status == 503, body
    assert "disk is full" in body["msg"] or "no space left on device" in body["msg"], body
    assert took_s < _ANSWERED_S


async def _request_code(
    client: aiohttp.ClientSession, place: SmallDiskPlatform
) -> tuple[int, dict[str, Any], float]:
    """Request a code by mail for an address that is new, so that no limit of mails to one address counts."""
    began = time.monotonic()
    url, address = f"{place.running_platform.url}/auth/v1/otp", f"{uuid.uuid4().hex}@example.com"
    async with client.post(url, json={"email": address}, headers=place.service) as answer:
        return answer.status, await answer.json(), time.monotonic() - began


async def _taken(client: aiohttp.ClientSession, place: SmallDiskPlatform) -> bool:
    return (await _request_code(client, place))[0] == 200


async def _faulty(client: aiohttp.ClientSession, place: SmallDiskPlatform, part: str) -> bool:
    states = await _ready(client, place)
    return states["status"] == "503" and "does not store" in states.get(part, "")


async def _is_ready(client: aiohttp.ClientSession, place: SmallDiskPlatform) -> bool:
    return (await _ready(client, place))["status"] == "200"


async def _written(client: aiohttp.ClientSession, place: SmallDiskPlatform, note: str) -> bool:
    return await _write(client, place, note) == 201


def _supervised(place: SmallDiskPlatform, words: str) -> bool:
    return words in (Path(place.running_platform.data) / "logs" / "supervisor.log").read_text()
