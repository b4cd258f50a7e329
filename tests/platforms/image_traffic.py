"""Clients that upload pictures, have them rendered and delete them without end: for crashes of the images pool.

Every picture that is given must be whole; a refusal must say that nobody renders now, or that this render failed.
"""

import asyncio
import random
import time
from collections import Counter
from io import BytesIO

import aiohttp

from tests.platform import Platform
from tests.platforms.storage_traffic import BUCKETS, PATIENCE_S
from tests.workers.images.samples import opened, quarters, written

RIGHT, REFUSED = "right", "refused"


async def client(running_platform: Platform, name: str, seen: Counter[str], stop: asyncio.Event) -> None:
    """Upload a picture, have it rendered in some sizes, delete it while the next render runs."""
    key, chance = running_platform.values["SERVICE_ROLE_KEY"], random.Random(name)
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    png = written(quarters(640, 480), "png")
    async with aiohttp.ClientSession(f"{running_platform.url}/storage/v1/", headers=headers) as session:
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
        seen[REFUSED if answer.status in (500, 503) else f"status {answer.status}"] += 1
        await asyncio.sleep(0.1)  # a pool that is down is not asked without end
    else:
        seen[RIGHT if _is_whole(body, width) else "wrong"] += 1


async def more_rendered(seen: Counter[str], count: int) -> None:
    """Wait until so many further pictures came."""
    wanted, deadline = seen[RIGHT] + count, time.monotonic() + PATIENCE_S
    while seen[RIGHT] < wanted:
        assert time.monotonic() < deadline, f"{dict(seen)}"
        await asyncio.sleep(0.02)


def _is_whole(png: bytes, width: int) -> bool:
    """Tell whether a file is a picture of this width with all its pixels."""
    image = opened(png, "[fail_on=truncated]")
    return bool(image.width == width and image.avg() > 0)
