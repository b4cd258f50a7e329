"""What dies while objects are on their way: a clear answer, no row without its bytes, and work goes on."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import psutil
import pytest

from tests.platform import Platform, platform
from tests.platforms.storage_requests import PATIENCE_S, PATIENT, Storehouse, open_storehouse, until
from tests.workers.images.samples import plain, quarters, written

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]

MIB = 1024 * 1024
NOBODY = (503, "no storage worker is running")
GONE = (504, "the worker that took this request is gone or does not answer")
"""The broker had not noticed its end yet."""


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform of which parts are killed."""
    with platform(environment=PATIENT) as one:
        yield one


@pytest.fixture(scope="module")
async def store(running_platform: Platform) -> AsyncIterator[Storehouse]:
    """The storage of that platform."""
    async for one in open_storehouse(running_platform):
        yield one


async def _told(upload: Any) -> tuple[int, dict[str, Any]]:
    async with asyncio.timeout(PATIENCE_S):
        status, body = await upload
    return status, body


async def test_a_worker_that_dies_between_the_steps_of_an_upload(store: Storehouse) -> None:
    slow = await store.begin("open/between", 2 * MIB)
    await slow.send(bytes(MIB + 1))
    await until(lambda: bool(store.staged()), "the upload did not begin")

    os.kill(store.process("pools").pid, signal.SIGKILL)
    await slow.send(bytes(MIB - 1))
    status, told = await _told(slow.answer())

    slow.leave()
    # 200: its successor was there already
    assert (status, told.get("message")) in (NOBODY, GONE, (200, None)), told
    await store.heal()
    assert await store.has_row("between") == (status == 200)
    assert await store.rows() <= store.blobs()
    assert (await store.upload("open/between", b"words", **{"x-upsert": "true"}))[0] == 200


async def test_a_worker_that_dies_while_it_writes_the_row(store: Storehouse) -> None:
    slow = await store.begin("open/row", 2 * MIB)
    await slow.send(bytes(MIB + 1))
    await until(lambda: bool(store.staged()), "the upload did not begin")
    held = store.database.transaction()
    await held.start()
    await store.database.execute("insert into storage.objects (bucket_id, name) values ('open', 'row')")

    await slow.send(bytes(MIB - 1))
    await until(lambda: not store.staged(), "the blob was not finished")
    os.kill(store.process("pools").pid, signal.SIGKILL)
    status, told = await _told(slow.answer())
    await held.rollback()

    slow.leave()
    assert (status, told["outcome"]) == (504, "unknown"), told
    await store.heal()
    await until_idle(store)
    # Postgres learnt of the end of the worker before the row was free (nothing is written) or after (it is)
    read = await store.get("object/open/row")
    if await store.has_row("row"):
        assert (read.status, len(read.body)) == (200, 2 * MIB)
    else:
        assert read.status == 400
    assert await store.rows() <= store.blobs()
    assert (await store.upload("open/row", b"words", **{"x-upsert": "true"}))[0] == 200


_WAITING = "select exists (select from pg_locks where locktype = 'advisory' and not granted)"
_AT_COMMIT = """
create function public.wait_at_commit() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(20261123);
  return null;
end $$;
create constraint trigger wait_at_commit after insert on storage.objects deferrable initially deferred
for each row when (new.name = 'at-commit') execute function public.wait_at_commit();
"""


async def _waits(store: Storehouse, *, holds: bool) -> None:
    """Wait until a transaction waits for an advisory lock, or none does."""
    async with asyncio.timeout(PATIENCE_S):
        while await store.database.fetchval(_WAITING) is not holds:
            await asyncio.sleep(0.02)


async def test_a_worker_that_dies_before_the_bytes_of_a_small_upload(store: Storehouse) -> None:
    await store.heal()  # now the worker knows the bucket
    await store.database.execute("select pg_advisory_lock(hashtextextended('open/before', 0))")
    try:
        upload = asyncio.create_task(store.upload("open/before", b"words"))
        await _waits(store, holds=True)
        blobs = store.blobs()
        os.kill(store.process("pools").pid, signal.SIGKILL)
        status, told = await _told(upload)
    finally:
        await store.database.execute("select pg_advisory_unlock_all()")

    assert (status, told["outcome"]) == (504, "unknown"), told
    await _waits(store, holds=False)
    assert store.blobs() == blobs
    await store.heal()
    assert not await store.has_row("before")
    assert (await store.upload("open/before", b"words"))[0] == 200


async def test_a_worker_that_dies_between_the_bytes_and_the_commit_of_a_small_upload(
    store: Storehouse,
) -> None:
    await store.heal()
    await store.database.execute(_AT_COMMIT)
    await store.database.execute("select pg_advisory_lock(20261123)")
    try:
        blobs = store.blobs()
        upload = asyncio.create_task(store.upload("open/at-commit", b"words"))
        await _waits(store, holds=True)
        assert len(store.blobs() - blobs) == 1  # stored, and no row names it yet
        assert not await store.has_row("at-commit")
        os.kill(store.process("pools").pid, signal.SIGKILL)
        status, told = await _told(upload)
    finally:
        await store.database.execute("select pg_advisory_unlock_all()")
        await _waits(store, holds=False)
        await store.database.execute("drop function public.wait_at_commit() cascade")

    assert (status, told["outcome"]) == (504, "unknown"), told
    await store.heal()
    assert await store.rows() <= store.blobs()
    # Postgres was asked to commit: it had the row, or the end of its client came first.
    read = await store.get("object/open/at-commit")
    if await store.has_row("at-commit"):
        assert (read.status, read.body) == (200, b"words")
    else:
        assert read.status == 400
    assert (await store.upload("open/at-commit", b"words", **{"x-upsert": "true"}))[0] == 200


async def until_idle(store: Storehouse) -> None:
    """Wait until no statement that the dead worker sent is still running."""
    running = """
        select exists (
            select from pg_stat_activity
            where state = 'active' and query ilike '%insert into storage.objects%' and pid <> pg_backend_pid()
        )
    """
    async with asyncio.timeout(PATIENCE_S):
        while await store.database.fetchval(running):
            await asyncio.sleep(0.05)


async def test_an_edge_that_dies_during_an_upload(store: Storehouse) -> None:
    slow = await store.begin("open/edge", 2 * MIB)
    await slow.send(bytes(MIB + 1))
    await until(lambda: bool(store.staged()), "the upload did not begin")

    os.kill(store.process("edges").pid, signal.SIGKILL)

    assert await slow.reader.read() == b""
    slow.leave()
    await _edge_is_back(store)
    assert not await store.has_row("edge")
    assert await store.rows() <= store.blobs()


async def test_uploads_beyond_what_may_be_staged_are_told_so_and_take_no_room(store: Storehouse) -> None:
    """An edge that died left a file as long as all uploads together may be."""
    others, left = store.staged(), store.folder / "staging" / str(uuid4())
    with left.open("wb") as file:
        file.truncate(20 * 1024 * MIB)
    try:
        await _notices_the_staging_limit(store)
        for _ in range(3):
            status, told = await store.upload("open/beyond", b"one byte too many")
            assert (status, told["error"], told["statusCode"]) == (507, "InsufficientStorage", "507"), told
        assert {*store.staged()} == {left, *others}
        assert not await store.has_row("beyond")
    finally:
        left.unlink()

    assert (await store.upload("open/beyond", b"there is room again"))[0] == 200


async def _notices_the_staging_limit(store: Storehouse) -> None:
    """Upload until the processes have measured the staging folder, which they do every two seconds."""
    async with asyncio.timeout(PATIENCE_S):
        while (await store.upload(f"open/measured/{uuid4()}", b"x"))[0] != 507:
            await asyncio.sleep(0.05)


async def _edge_is_back(store: Storehouse) -> None:
    def answers() -> bool:
        try:
            return store.platform.get("/storage/v1/status")[0] == 200
        except OSError:
            return False

    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(answers):
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("what", "refusal"),
    [("pool", (503, "Images cannot be rendered now")), ("decoder", (500, "The image could not be rendered"))],
)
async def test_a_render_that_dies_fails_alone(store: Storehouse, what: str, refusal: tuple[int, str]) -> None:
    png = {"Content-Type": "image/png"}
    await store.upload(f"open/{what}-large.png", written(plain(7000, 7000), "png"), **png)
    await store.upload(f"open/{what}-small.png", written(quarters(80, 40), "png"), **png)
    images = store.process("images")
    url = f"render/image/public/open/{what}-large.png?width=2000&height=2000&format=avif&quality=100"
    spent = _seconds(images)
    rendering = asyncio.create_task(store.get(url))
    await until(lambda: _seconds(images) > spent + 0.3, "nothing is rendered")

    decoders = images.children(recursive=True)
    for process in [images] if what == "pool" else decoders:
        process.kill()
    answer = await asyncio.wait_for(rendering, PATIENCE_S)

    assert (answer.status, json.loads(answer.body)["message"]) == refusal
    await _renders(store, f"render/image/public/open/{what}-small.png?width=40&format=png")
    await until(lambda: not any(each.is_running() for each in decoders), "a decoder outlives its pool")
    assert await store.rows() <= store.blobs()


def _seconds(process: psutil.Process) -> float:
    """Give the CPU time of a process and of all below it."""
    total = 0.0
    for each in [process, *process.children(recursive=True)]:
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


async def _renders(store: Storehouse, path: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await store.get(path)).status != 200:
            await asyncio.sleep(0.1)
