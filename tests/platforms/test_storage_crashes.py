"""Parts of a platform are killed amid uploads, moves, copies, deletes and renders: what was acknowledged stands, nothing half is left.

No row without its blob at any time; no blob without a row once the sweep was there; no picture that is not whole, and none
that outlives its object.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of
from tests.platforms.image_traffic import REFUSED, RIGHT, client, more_rendered
from tests.platforms.storage_traffic import (
    AcknowledgedObjects,
    differences,
    make_buckets,
    more_done,
    swept,
    traffic,
)

pytestmark = [pytest.mark.process_group("storage-crashes"), pytest.mark.timeout(240)]

_KILLS = 3
_BETWEEN = 60
_PICTURES_BETWEEN, _PICTURE_CLIENTS = 25, 4


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform of which parts are killed."""
    with platform() as one:
        asyncio.run(make_buckets(one))
        yield one


@pytest.mark.parametrize("part", ["edges", "pools", "postgres", "nats"])
async def test_a_killed_part_loses_nothing_acknowledged_and_leaves_nothing_half(
    running_platform: Platform, part: str
) -> None:
    async with traffic(running_platform, part) as known:
        for _ in range(_KILLS):
            await more_done(known, _BETWEEN)
            os.kill(pid_of(running_platform, part), signal.SIGKILL)
        await more_done(known, _BETWEEN)

    await _is_whole(running_platform, known)


async def test_everything_killed_at_once_loses_nothing_acknowledged(running_platform: Platform) -> None:
    async with traffic(running_platform, "all") as known:
        await more_done(known, _BETWEEN)
        for part in ("pools", "edges", "postgres", "nats"):
            os.kill(pid_of(running_platform, part), signal.SIGKILL)
        await more_done(known, _BETWEEN)

    await _is_whole(running_platform, known)


async def test_a_killed_images_pool_gives_no_half_picture_and_leaves_none(running_platform: Platform) -> None:
    seen: Counter[str] = Counter()
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(_PICTURE_CLIENTS):
            group.create_task(client(running_platform, f"c{number}", seen, stop))
        try:
            for _ in range(_KILLS):
                await more_rendered(seen, _PICTURES_BETWEEN)
                os.kill(pid_of(running_platform, "images"), signal.SIGKILL)
            await more_rendered(seen, _PICTURES_BETWEEN)
        finally:
            stop.set()

    left = await swept(running_platform)
    print(f"{dict(seen)}, with pictures {len(left.transforms)}, orphans {left.orphans}")
    assert set(seen) <= {RIGHT, REFUSED}, seen
    assert left.rows == left.blobs
    assert left.transforms <= left.rows, "pictures of objects that are gone"
    assert left.staging == []


async def _is_whole(running_platform: Platform, known: AcknowledgedObjects) -> None:
    left = await swept(running_platform)
    wrong = await differences(running_platform, known)
    print(
        f"done {known.done}, without an answer {known.lost}, doubtful {len(known.doubtful)}, "
        f"objects {len(left.rows)}, moves in doubt {len(known.moves)}, orphans {left.orphans}"
    )
    assert known.odd == []
    assert wrong == []
    assert left.rows - left.blobs == set(), "rows without a blob"
    assert left.blobs - left.rows == set(), "blobs without a row"
    assert left.staging == []
