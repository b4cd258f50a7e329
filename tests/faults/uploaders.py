"""Uploads of objects whose bytes follow from their id, and the comparison of what is stored with them, by hash."""

import asyncio
import hashlib
from io import BytesIO

import aiohttp

from tests.faults.ledger import Caller, Ledger
from tests.faults.writers import numbers
from tests.platform import Platform

OBJECTS = "objects"
BUCKET = "marks"
_SIZES = (0, 700, 9_000, 40_000)
_LARGE, _LARGE_EVERY = 1_300_000, 50
_PAUSE_S, _REFUSED_S = 0.15, 0.1
_AT_ONCE = 16
_NOT_THERE = (400, 404)


def content(id: int) -> bytes:
    """Return bytes that no other id has."""
    seed = hashlib.sha256(str(id).encode()).digest()
    size = _LARGE if id % _LARGE_EVERY == 0 else _SIZES[id % len(_SIZES)]
    return (seed * (size // len(seed) + 1))[:size] + str(id).encode()


async def make_bucket(running_platform: Platform, session: aiohttp.ClientSession) -> None:
    """Make the bucket of the uploads."""
    headers = _service(running_platform)
    async with session.post(
        f"{running_platform.url}/storage/v1/bucket", json={"name": BUCKET}, headers=headers
    ) as answer:
        assert answer.status == 200, await answer.text()


async def upload(
    running_platform: Platform, session: aiohttp.ClientSession, ledger: Ledger, writer: int
) -> None:
    """Upload one object after another, each under a key of its own."""
    caller = Caller(session, ledger, running_platform.url, running_platform.values["SERVICE_ROLE_KEY"])
    for id in numbers(writer):
        done = await caller.send(
            OBJECTS,
            id,
            "POST",
            f"/storage/v1/object/{BUCKET}/{id}",
            headers={"content-type": "application/octet-stream"},
            data=BytesIO(content(id)),
        )
        await asyncio.sleep(_PAUSE_S if done is not None else _REFUSED_S)


async def stored_objects(running_platform: Platform, ids: set[int]) -> tuple[set[int], list[str]]:
    """Return which of these objects are stored whole, and every stored one that is not, in words."""
    stored: set[int] = set()
    wrong: list[str] = []
    turns = asyncio.Semaphore(_AT_ONCE)
    async with aiohttp.ClientSession(headers=_service(running_platform)) as session:

        async def look(id: int) -> None:
            async with (
                turns,
                session.get(f"{running_platform.url}/storage/v1/object/{BUCKET}/{id}") as answer,
            ):
                body = await answer.read()
            if answer.status == 200 and hashlib.sha256(body).digest() == hashlib.sha256(content(id)).digest():
                stored.add(id)
            elif answer.status not in _NOT_THERE:
                wrong.append(f"object {id}: {answer.status}, {len(body)} bytes of {len(content(id))}")

        await asyncio.gather(*(look(id) for id in ids))
    return stored, wrong


def _service(running_platform: Platform) -> dict[str, str]:
    key = running_platform.values["SERVICE_ROLE_KEY"]
    return {"apikey": key, "Authorization": f"Bearer {key}"}
