"""Decoder processes: what they are given, how they end, and that no end of theirs stops the next render."""

import asyncio
import os
import shutil
import signal

import psutil
import pytest

from schemas.images.transform import Transform
from tests.workers.images.from_fork import from_fork
from tests.workers.images.rendering import rendered, running, until
from tests.workers.images.samples import FOREIGN, opened, quarters, slow_svg, svg, written
from workers.images import decoder_processes as module
from workers.images.errors import (
    RenderFailed,
    RenderTimedOut,
    SourceTooLarge,
    SourceTooManyPixels,
    SourceUnsupported,
)
from workers.images.limits import DecoderLimits

SOURCE = from_fork(lambda: written(quarters(), "png"))


async def test_a_result_comes_back_through_a_file() -> None:
    async with running() as decoders:
        made, data = await rendered(decoders, SOURCE, Transform(20, 10), "webp")

    image = opened(data)
    assert (made.content_type, made.size, made.is_source) == ("image/webp", len(data), False)
    assert (image.width, image.height) == (made.width, made.height) == (20, 10)


async def test_a_drawing_comes_back_as_its_own_source() -> None:
    async with running() as decoders:
        made, data = await rendered(decoders, svg(80, 40), output="auto")

    assert (made.content_type, made.is_source, made.width, made.height, data) == (
        "image/svg+xml",
        True,
        80,
        40,
        b"",
    )


async def test_one_decoder_does_many_jobs_in_one_process() -> None:
    async with running(processes=2) as decoders:
        pids = []
        for _ in range(5):
            await rendered(decoders, SOURCE)
            pids += decoders.pids

    assert len(set(pids)) == 1


async def test_jobs_at_the_same_time_have_a_decoder_each_up_to_the_number() -> None:
    async with running(processes=2) as decoders:
        await asyncio.gather(*(rendered(decoders, SOURCE) for _ in range(8)))

        assert len(decoders.pids) == 2


async def test_refusals_come_back_by_their_kind_and_the_decoder_lives_on() -> None:
    limits = DecoderLimits(source_bytes=20_000, source_pixels=80 * 40)
    async with running(limits) as decoders:
        await rendered(decoders, SOURCE)
        first = decoders.pids
        for source, error in (
            (FOREIGN["heic"], SourceUnsupported),
            (b"", SourceUnsupported),
            (SOURCE[:60], SourceUnsupported),
            (bytes(20_001), SourceTooLarge),
            (written(quarters(82, 40), "png"), SourceTooManyPixels),
        ):
            with pytest.raises(error):
                await rendered(decoders, source)
        made, _ = await rendered(decoders, SOURCE)

        assert made.width == 20
        assert decoders.pids == first


async def test_a_render_that_takes_too_long_ends_with_its_process() -> None:
    async with running(DecoderLimits(timeout=2)) as decoders:
        late = asyncio.ensure_future(rendered(decoders, slow_svg(), Transform(2000, 2000)))
        await until(lambda: decoders.pids)
        (pid,) = decoders.pids
        with pytest.raises(RenderTimedOut):
            await late
        await until(lambda: not psutil.pid_exists(pid))

        made, _ = await rendered(decoders, SOURCE)
        assert made.width == 20


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
async def test_a_decoder_that_dies_costs_one_render(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(module, "observe", seen.append)
    async with running() as decoders:
        hit = asyncio.ensure_future(rendered(decoders, slow_svg(), Transform(2000, 2000)))
        await until(lambda: decoders.pids)
        os.kill(decoders.pids[0], number)  # of a process that this test has started
        with pytest.raises(RenderFailed):
            await hit

        made, _ = await rendered(decoders, SOURCE)

    assert made.width == 20
    assert seen == [module.DecoderEnded(f"signal {number.value}")]


async def test_a_decoder_that_dies_at_rest_costs_nothing() -> None:
    async with running() as decoders:
        await rendered(decoders, SOURCE)
        process = psutil.Process(decoders.pids[0])
        process.kill()
        await until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
        await until(lambda: not psutil.pid_exists(process.pid))

        made, _ = await rendered(decoders, SOURCE)
        assert made.width == 20


async def test_a_decoder_at_rest_is_ended_after_a_while() -> None:
    async with running(idle=0.05) as decoders:
        await rendered(decoders, SOURCE)
        await until(lambda: not decoders.pids)

        made, _ = await rendered(decoders, SOURCE)
        assert made.width == 20


async def test_a_decoder_ends_after_many_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_LIFE", 3)
    async with running() as decoders:
        pids = []
        for _ in range(4):
            await rendered(decoders, SOURCE)
            pids += decoders.pids

    assert len(set(pids)) >= 1
    assert len(pids) < 4


async def test_leaving_a_render_ends_its_decoder() -> None:
    async with running() as decoders:
        left = asyncio.ensure_future(rendered(decoders, slow_svg(), Transform(2000, 2000)))
        await until(lambda: decoders.pids)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left

        made, _ = await rendered(decoders, SOURCE)
        assert made.width == 20


async def test_closing_ends_all_processes() -> None:
    async with running(processes=2) as decoders:
        await asyncio.gather(*(rendered(decoders, SOURCE) for _ in range(2)))
        hit = asyncio.ensure_future(rendered(decoders, slow_svg(), Transform(2000, 2000)))
        await until(lambda: decoders.working)
        pids = decoders.pids
        await decoders.close()
        with pytest.raises(RenderFailed):
            await hit
        with pytest.raises(RenderFailed):
            await rendered(decoders, SOURCE)

    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.parametrize("program", ["/no/such/program", shutil.which("false"), shutil.which("echo")])
async def test_a_decoder_that_cannot_start_is_told_as_a_failure(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as decoders:
        with monkeypatch.context() as patched:
            patched.setattr(module.sys, "executable", program)
            with pytest.raises(RenderFailed):
                await rendered(decoders, SOURCE)

        made, _ = await rendered(decoders, SOURCE)
        assert made.width == 20


async def test_a_decoder_that_is_not_ready_in_time_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_START_S", 0.001)

    with pytest.raises(RenderFailed):
        await module.DecoderProcess.start(DecoderLimits())


async def test_a_decoder_holds_no_secret_and_no_foreign_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_BROKER_URL", "nats://user:hidden@127.0.0.1")
    with open(__file__) as file:
        os.set_inheritable(file.fileno(), True)
        async with running() as decoders:
            await rendered(decoders, SOURCE)
            process = psutil.Process(decoders.pids[0])

            assert not [name for name in process.environ() if name.startswith("HEADWATER")]
            assert not [each for each in process.open_files() if each.path == __file__]
            assert len(process.net_connections()) == 0
            assert process.cwd() == "/"


@pytest.mark.skipif(not hasattr(psutil, "RLIMIT_AS"), reason="limits are read from Linux")
async def test_a_decoder_is_held_to_its_limits() -> None:
    limits = DecoderLimits(memory=300 * 2**20, result_bytes=2**20)
    async with running(limits) as decoders:
        await rendered(decoders, SOURCE)
        process = psutil.Process(decoders.pids[0])

        assert process.rlimit(psutil.RLIMIT_DATA) == (limits.memory, limits.memory)
        assert process.rlimit(psutil.RLIMIT_FSIZE) == (limits.result_bytes, limits.result_bytes)
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert process.nice() > 0


async def test_a_result_beyond_its_limit_is_a_failure_and_not_the_end() -> None:
    async with running(DecoderLimits(result_bytes=100)) as decoders:
        with pytest.raises(RenderFailed):
            await rendered(decoders, SOURCE, Transform(), "jpeg")
        made, _ = await rendered(decoders, svg(), output="auto")

    assert made.is_source
