"""The images pool is killed amid renders, uploads and deletes: every picture that is given is whole, and none outlives its object."""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from io import BytesIO

import aiohttp
import pytest

from tests.house.conftest import pid_of
from tests.house.storage_traffic import BUCKETS, PATIENCE_S, make_buckets, swept
from tests.platform import Platform, platform
from tests.workers.images.samples import opened, quarters, written

pytestmark = [pytest.mark.xdist_group("storage-crashes"), pytest.mark.timeout(240)]

_KILLS = 3
_BETWEEN = 25
_CLIENTS = 4
_RIGHT, _REFUSED = "right", "refused"


@pytest.fixture(scope="module")
def place() -> Iterator[Platform]:
    """A platform whose images pool is killed."""
    with platform() as one:
        asyncio.run(make_buckets(one))
        yield one


async def test_a_killed_images_pool_gives_no_half_picture_and_leaves_none(place: Platform) -> None:
    seen: Counter[str] = Counter()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(_CLIENTS):
            group.create_task(_client(place, f"c{number}", seen, stop))
        try:
            for _ in range(_KILLS):
                await _more(seen, _BETWEEN)
                os.kill(pid_of(place, "images"), signal.SIGKILL)
            await _more(seen, _BETWEEN)
        finally:
            stop.set()

    left = await swept(place)
    print(
        f"{dict(seen)}, objects {len(left.rows)}, with pictures {len(left.transforms)}, orphans {left.orphans}"
    )
    assert set(seen) <= {_RIGHT, _REFUSED}, seen
    assert left.rows == left.blobs
    assert left.transforms <= left.rows, "pictures of objects that are gone"
    assert left.staging == []


async def _client(place: Platform, name: str, seen: Counter[str], stop: asyncio.Event) -> None:
    """Upload a picture, have it rendered in some sizes, delete it while the next render runs."""
    key, chance = place.values["SERVICE_ROLE_KEY"], random.Random(name)
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    png = written(quarters(640, 480), "png")
    async with aiohttp.ClientSession(f"{place.url}/storage/v1/", headers=headers) as session:
        while not stop.is_set():
            object_name = f"{BUCKETS[0]}/{name}/{chance.getrandbits(64):x}.png"
            kind = {"content-type": "image/png"}
            async with session.post(f"object/{object_name}", data=BytesIO(png), headers=kind) as answer:
                assert answer.status == 200, await answer.text()
            for _ in range(3):
                await _render(session, object_name, chance.randrange(20, 600), seen)
            if chance.random() < 0.7:
                late = asyncio.create_task(_render(session, object_name, chance.randrange(20, 600), None))
                async with session.delete(f"object/{object_name}") as answer:
                    assert answer.status == 200, await answer.text()
                await late


async def _render(session: aiohttp.ClientSession, name: str, width: int, seen: Counter[str] | None) -> None:
    """Ask for a picture, and note what came; without a list, any answer is right."""
    url = f"render/image/authenticated/{name}?width={width}&format=png"
    async with session.get(url) as answer:
        body = await answer.read()
    if seen is None:
        return
    if answer.status != 200:
        seen[_REFUSED if answer.status in (500, 503) else f"status {answer.status}"] += 1
        await asyncio.sleep(0.02)  # a pool that is down is not asked without end
    else:
        seen[_RIGHT if _is_whole(body, width) else "wrong"] += 1


async def _more(seen: Counter[str], count: int) -> None:
    wanted, deadline = seen[_RIGHT] + count, time.monotonic() + PATIENCE_S
    while seen[_RIGHT] < wanted:
        assert time.monotonic() < deadline, f"{dict(seen)}"
        await asyncio.sleep(0.02)


def _is_whole(png: bytes, width: int) -> bool:
    """Tell whether a file is a picture of this width with all its pixels."""
    image = opened(png, "[fail_on=truncated]")
    return bool(image.width == width and image.avg() > 0)
