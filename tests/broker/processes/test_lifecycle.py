import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec

import pytest

from broker.processes.lifecycle import (
    BAD_SETTINGS,
    CRASHED,
    NOT_DRAINED,
    OK,
    ManagedProcess,
    share_of_requests_s,
)
from broker.processes.status_lines import HEARTBEAT
from schemas.settings.tree import Pools, Settings

_S = 60


async def _start(what: str, *arguments: str, ready: bool = False) -> tuple[Process, int]:
    """Start a life; give it, and the reading end of its readiness pipe."""
    reading, writing = os.pipe()
    try:
        process = await create_subprocess_exec(
            sys.executable, "-m", "tests.broker.life", what, *arguments,
            stdout=PIPE, stderr=PIPE, pass_fds=(writing,),
            env={**os.environ, **({"HEADWATER_READY_FD": str(writing)} if ready else {})},
        )  # fmt: skip
    finally:
        os.close(writing)
    return process, reading


async def _line(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), _S)).decode().strip()


async def _end(process: Process, reading: int) -> tuple[list[str], str, int]:
    """Wait for the end; give what was said, what was logged and the exit code."""
    try:
        said, logged = await asyncio.wait_for(process.communicate(), _S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(reading)
    assert process.returncode is not None
    return said.decode().split("\n")[:-1], logged.decode(), process.returncode


@pytest.mark.parametrize(("word", "said"), [(b"go\n", b"went on\n"), (b"", b"")])
async def test_a_process_that_is_started_ahead_goes_on_at_the_word_and_ends_without_it(
    word: bytes, said: bytes
) -> None:
    reading, writing = os.pipe()
    process = await create_subprocess_exec(
        sys.executable, "-c", "from broker.processes.lifecycle import wait_for_go; wait_for_go(); print('went on')",
        stdout=PIPE, pass_fds=(reading,), env={**os.environ, "HEADWATER_GO_FD": str(reading)},
    )  # fmt: skip
    os.close(reading)

    os.write(writing, word)
    os.close(writing)

    assert (await asyncio.wait_for(process.communicate(), _S))[0] == said
    assert process.returncode == OK


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains_in_reverse_order_and_ends_in_order(number: signal.Signals) -> None:
    process, reading = await _start("works")
    assert await _line(process) == "working"

    process.send_signal(number)

    said, _, code = await _end(process, reading)
    assert said == ["drained second", "drained first", "stopped"]
    assert code == OK


async def test_the_supervisor_reads_ready_once_and_then_signs_of_life() -> None:
    process, reading = await _start("works", ready=True)

    lines = await asyncio.to_thread(_read, reading, len(b"ready\n" + HEARTBEAT))
    process.terminate()
    rest = await asyncio.to_thread(_read, reading, 1000)
    await _end(process, reading)

    assert lines == b"ready\n" + HEARTBEAT
    assert rest.replace(HEARTBEAT, b"") == b""


def _read(descriptor: int, size: int) -> bytes:
    """Read so many bytes from a pipe, fewer at its end."""
    data = b""
    while len(data) < size and (piece := os.read(descriptor, size - len(data))):
        data += piece
    return data


async def test_a_process_whose_supervisor_stopped_listening_ends() -> None:
    process, reading = await _start("works", ready=True)
    copy = os.dup(reading)
    os.close(reading)
    os.close(copy)

    said, logged, code = await _end(process, os.open(os.devnull, os.O_RDONLY))

    assert said[-1] == "stopped"
    assert "the supervisor is gone" in logged
    assert code == OK


async def test_a_process_whose_supervisor_died_ends() -> None:
    script = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'tests.broker.life', 'works'],\n"
        "                         pass_fds=(int(os.environ['HEADWATER_READY_FD']),))\n"
        "sys.stdin.read()\n"
        "os._exit(0)\n"
    )
    reading, writing = os.pipe()
    parent = await create_subprocess_exec(
        sys.executable, "-c", script, stdin=PIPE, stdout=PIPE, stderr=PIPE, pass_fds=(writing,),
        env={**os.environ, "HEADWATER_READY_FD": str(writing)},
    )  # fmt: skip
    os.close(writing)
    assert await _line(parent) == "working"

    parent.kill()

    # The grandchild holds the other end of the output: it is read to its end only when that has ended, too.
    assert parent.stdout is not None
    assert parent.stderr is not None
    said = await asyncio.wait_for(parent.stdout.read(), _S)
    logged = await parent.stderr.read()
    await parent.wait()
    os.close(reading)
    assert said.endswith(b"stopped\n")
    assert b"the supervisor is gone" in logged


async def test_a_main_that_returns_ends_the_process_in_order() -> None:
    said, _, code = await _end(*await _start("returns"))

    assert said == ["drained second", "drained first"]
    assert code == OK


async def test_a_crash_is_told_and_has_its_code() -> None:
    said, logged, code = await _end(*await _start("crash"))

    assert said == ["drained second", "drained first"]
    assert "no way on" in logged
    assert code == CRASHED


async def test_unusable_settings_have_their_code() -> None:
    _, logged, code = await _end(*await _start("bad-settings"))

    assert "api.port is odd" in logged
    assert "Traceback" not in logged
    assert code == BAD_SETTINGS


async def test_a_broken_part_does_not_keep_the_others_from_ending() -> None:
    process, reading = await _start("broken-drain")
    assert await _line(process) == "working"

    process.terminate()

    said, logged, code = await _end(process, reading)
    assert said == ["drained second", "drained first", "stopped"]
    assert "a part is broken" in logged
    assert code == OK


async def test_a_drain_that_takes_too_long_has_its_code() -> None:
    process, reading = await _start("long-drain", "0.2")
    assert await _line(process) == "working"

    process.terminate()

    said, _, code = await _end(process, reading)
    assert said == ["drained second"]
    assert code == NOT_DRAINED


@pytest.mark.parametrize(
    ("drain_s", "share_s"), [(100.0, 90.0), (20.0, 18.0), (10.0, 8.0), (3.0, 1.5), (1.0, 0.5), (0.0, 0.0)]
)
def test_the_steps_after_the_open_requests_have_time(drain_s: float, share_s: float) -> None:
    assert share_of_requests_s(drain_s) == share_s


async def test_work_that_a_start_does_not_wait_for_begins_when_the_process_is_ready() -> None:
    process = ManagedProcess("test", Settings())
    seen: list[bool] = []

    async def main(process: ManagedProcess) -> None:
        process.on_ready(lambda: seen.append(process._is_ready))
        assert seen == []
        process.ready()
        process.stop("the test is over")
        await process.stopped()

    assert await process.run(main) == OK
    assert seen == [True]


async def test_requests_may_take_less_when_steps_before_them_took_long() -> None:
    settings = Settings(pools=Pools(drain_timeout=10.0))
    process = ManagedProcess("test", settings)
    left: list[float] = []

    async def drain() -> None:
        left.append(process.requests_may_take_s())

    async def main(process: ManagedProcess) -> None:
        process.on_drain(drain)
        left.append(process.requests_may_take_s())
        process.ready()
        process.stop("the test is over")
        await process.stopped()

    code = await process.run(main)

    assert code == OK
    assert left[0] == 8.0
    assert 0 < left[1] < 8.0


async def test_a_second_signal_ends_the_process_now() -> None:
    process, reading = await _start("long-drain")
    assert await _line(process) == "working"

    process.terminate()
    assert await _line(process) == "drained second"
    process.terminate()

    _, _, code = await _end(process, reading)
    assert code == NOT_DRAINED


async def test_a_process_that_is_still_starting_ends_at_once() -> None:
    process, reading = await _start("starting")
    assert await _line(process) == "starting"

    process.terminate()

    said, _, code = await _end(process, reading)
    assert said == ["drained second", "drained first"]
    assert code == OK
