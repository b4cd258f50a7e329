"""The decoder processes of an images worker: started on demand, one job at a time each, stopped on failure or when
idle.

    render --> an idle process, or a new one, up to `processes` --> its answer --> idle again
                 | too slow: killed, RenderTimedOut      | it ended: RenderFailed      | idle for long: stopped

Processes instead of threads: a process can be killed on a timeout, survives no bug that could leak into the next job,
and holds no secret. The cost (tests/bench/images.py): about 0.3 ms a render, 0.2 s for a start, and 20 to 30 MB for an
idle one.
"""

import asyncio
import contextlib
import os
import socket
import sys
from collections import deque
from pathlib import Path
from typing import ClassVar

import msgspec

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.images import decoder_messages as jobs
from workers.images.decoder_messages import (
    DecoderAnswer,
    DecoderJob,
    DecoderReady,
    RenderedImage,
    RenderRejected,
)
from workers.images.errors import DECODER_ERRORS, RenderFailed, RenderTimedOut, SourceUnsupported
from workers.images.limits import DecoderLimits

_ROOT = Path(__file__).resolve().parents[2]
_START_S = 20.0
_END_S = 2.0
_LONGEST_LIFE = 500
"""Jobs after which a process is replaced: memory that a library leaks is returned to the system."""
_READ = 64 * 1024
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class ImageRefused(Observation, frozen=True):
    """An image was not rendered."""

    level: ClassVar[str] = "debug"
    reason: str


class DecoderEnded(Observation, frozen=True):
    """A decoder process was killed, or ended by itself, during a render."""

    level: ClassVar[str] = "warning"
    reason: str


class DecoderProcess:
    """One decoder process and the socket to it."""

    def __init__(self, process: asyncio.subprocess.Process, channel: socket.socket) -> None:
        self.jobs = 0
        self._process = process
        self._channel = channel
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def start(cls, limits: DecoderLimits) -> "DecoderProcess":
        """Start a process. Raises: RenderFailed if it does not become ready."""
        ours, its = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "workers.images.decoder",
                msgspec.json.encode(limits).decode(),
                stdin=its.fileno(),
                env=_environment(),
                cwd="/",
            )
        except OSError as error:
            ours.close()
            observe(DecoderEnded(f"cannot be started: {error.strerror}"))
            raise RenderFailed from None
        finally:
            its.close()
        decoder = cls(process, ours)
        try:
            async with asyncio.timeout(_START_S):
                answer = await decoder._answer()
        except (TimeoutError, OSError):
            decoder.kill()
            observe(DecoderEnded(f"not ready within {_START_S:g} s"))
            await decoder.ended()
            raise RenderFailed from None
        except BaseException:
            decoder.kill()
            await asyncio.shield(decoder.ended())
            raise
        if not isinstance(answer, DecoderReady):
            raise await decoder.failed()
        return decoder

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether it can take another job. EOF at the socket shows its end before the event loop learns of the exit."""
        if self._process.returncode is not None or self.jobs >= _LONGEST_LIFE:
            return False
        try:
            self._channel.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True  # no data: an idle process sends nothing
        except OSError:
            pass
        return False

    async def render(
        self, job: DecoderJob, source: int, result: int
    ) -> RenderedImage | RenderRejected | None:
        """Send a job with its open files and wait; None if the process has ended."""
        self.jobs += 1
        try:
            jobs.send_job(self._channel, job, source, result)
            answer = await self._answer()
        except OSError:
            return None
        return None if isinstance(answer, DecoderReady) else answer

    def kill(self) -> None:
        """Send SIGKILL; a render in progress sees the closed socket."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> int:
        """Wait for the exit of the process; return its exit code, negative for a signal. No render is in progress."""
        code = await self._process.wait()
        self._channel.close()
        return code

    async def failed(self) -> RenderFailed:
        """Wait for the exit after the process closed its socket, and report it; return the error to raise."""
        try:
            async with asyncio.timeout(_END_S):
                await self._process.wait()
        except TimeoutError:
            self.kill()
        code = await self.ended()
        observe(DecoderEnded(f"signal {-code}" if code < 0 else f"code {code}"))
        return RenderFailed()

    async def _answer(self) -> DecoderAnswer | None:
        """Wait for an answer; None if the process ends first or sends an invalid one."""
        data = b""
        while True:
            piece = await self._loop.sock_recv(self._channel, _READ)
            if not piece:
                return None
            data += piece
            try:
                if (answer := jobs.answer_in(data)) is not None:
                    return answer
            except (msgspec.MsgspecError, ValueError):
                return None


class DecoderProcesses:
    """At most `processes` decoder processes. A job needs one of the `places` of the semaphore; others wait in order."""

    def __init__(self, limits: DecoderLimits, *, processes: int, idle_timeout: float) -> None:
        self._limits = limits
        self._idle_timeout = idle_timeout
        self._loop = asyncio.get_running_loop()
        self.places = asyncio.Semaphore(processes)
        self._working: set[DecoderProcess] = set()
        self._resting: deque[tuple[DecoderProcess, asyncio.TimerHandle]] = deque()
        self._ended: set[asyncio.Task[int]] = set()
        self._is_closed = False

    @property
    def working(self) -> int:
        """The number of renders in progress."""
        return len(self._working)

    @property
    def pids(self) -> list[int]:
        """The ids of all processes, busy ones first."""
        return [decoder.pid for decoder in (*self._working, *(resting for resting, _ in self._resting))]

    async def render(self, job: DecoderJob, source: int, result: int) -> RenderedImage:
        """Render a job. The caller holds one of the `places`.

        Raises: RenderTimedOut, RenderFailed, and the errors of the decoder.
        """
        decoder = await self._take()
        if self._is_closed:
            self._end(decoder)
            raise RenderFailed
        self._working.add(decoder)
        try:
            async with asyncio.timeout(self._limits.timeout):
                answer = await decoder.render(job, source, result)
        except BaseException as error:
            self._end(decoder)
            if not isinstance(error, TimeoutError):
                raise
            observe(DecoderEnded(f"took longer than {self._limits.timeout:g} s"))
            raise RenderTimedOut from None
        finally:
            self._working.discard(decoder)
        if answer is None:
            raise await decoder.failed()
        self._rest(decoder)
        if isinstance(answer, RenderRejected):
            observe(ImageRefused(answer.reason))
            raise DECODER_ERRORS.get(answer.error, SourceUnsupported)()
        return answer

    async def close(self) -> None:
        """Kill all processes, busy ones included, and start no more."""
        self._is_closed = True
        for decoder, timer in self._resting:
            timer.cancel()
            self._end(decoder)
        self._resting.clear()
        for decoder in self._working:
            decoder.kill()
        await asyncio.gather(*self._ended, return_exceptions=True)

    async def _take(self) -> DecoderProcess:
        while self._resting:
            decoder, timer = (
                self._resting.pop()
            )  # the most recently used: the others may reach their idle timeout
            timer.cancel()
            if decoder.is_usable:
                return decoder
            self._end(decoder)
        return await DecoderProcess.start(self._limits)

    def _rest(self, decoder: DecoderProcess) -> None:
        if not decoder.is_usable:
            self._end(decoder)
            return
        timer = self._loop.call_later(self._idle_timeout, self._retire, decoder)
        self._resting.append((decoder, timer))

    def _retire(self, decoder: DecoderProcess) -> None:
        self._resting = deque(entry for entry in self._resting if entry[0] is not decoder)
        self._end(decoder)

    def _end(self, decoder: DecoderProcess) -> None:
        decoder.kill()
        task = self._loop.create_task(decoder.ended())
        self._ended.add(task)
        task.add_done_callback(self._ended.discard)


def _environment() -> dict[str, str]:
    """Return the environment of a decoder process: where our modules are, and settings of the image library."""
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **passed,
        "PYTHONPATH": str(_ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "VIPS_CONCURRENCY": "1",
        "VIPS_DISC_THRESHOLD": "64g",  # never write a large image to disk
        "VIPS_WARNING": "1",
        "MALLOC_ARENA_MAX": "2",
        "LC_ALL": "C.UTF-8",
    }
