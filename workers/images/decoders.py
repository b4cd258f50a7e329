"""The decoders of an images process: started when needed, one job at a time each, ended when they fail or rest.

    render --> a resting decoder, or a new one, up to `processes` --> its answer --> it rests
                 | too slow: killed, RenderTimedOut      | it ended: RenderFailed      | rested long: ended

Why processes and not threads: a decoder can be killed, by the clock or by its own bug, and holds no secret; a thread
can do neither. What it costs stands in tests/bench/images.py: about 0.3 ms a render, 0.2 s for a start, and
20 to 30 MB for each that rests.
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
from workers.images import job as jobs
from workers.images.errors import REFUSALS, RenderFailed, RenderTimedOut, SourceUnsupported
from workers.images.job import Answer, Job, Made, Ready, Refused
from workers.images.limits import Limits

_ROOT = Path(__file__).resolve().parents[2]
_START_S = 20.0
_END_S = 2.0
_LONGEST_LIFE = 500
"""Jobs after which a decoder is ended: what a library does not give back goes with it."""
_READ = 64 * 1024
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class ImageRefused(Observation, frozen=True):
    """An image was not rendered."""

    level: ClassVar[str] = "debug"
    reason: str


class DecoderEnded(Observation, frozen=True):
    """A decoder was ended, or ended by itself, in the middle of a render."""

    level: ClassVar[str] = "warning"
    reason: str


class Decoder:
    """One decoder process and the socket to it."""

    def __init__(self, process: asyncio.subprocess.Process, channel: socket.socket) -> None:
        self.jobs = 0
        self._process = process
        self._channel = channel
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def start(cls, limits: Limits) -> "Decoder":
        """Start a decoder. Raises: RenderFailed if it does not become ready."""
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
        except BaseException:
            decoder.kill()
            await asyncio.shield(decoder.ended())
            raise
        if not isinstance(answer, Ready):
            raise await decoder.failed()
        return decoder

    @property
    def pid(self) -> int:
        """Give the id of its process."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether it can be given another job: its end is seen at its socket, before anybody tells of the process."""
        if self._process.returncode is not None or self.jobs >= _LONGEST_LIFE:
            return False
        try:
            self._channel.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True  # it is silent, as at rest it should be
        except OSError:
            pass
        return False

    async def render(self, job: Job, source: int, result: int) -> Made | Refused | None:
        """Give it a job with its open files; None: it has ended."""
        self.jobs += 1
        try:
            jobs.send_job(self._channel, job, source, result)
            answer = await self._answer()
        except OSError:
            return None
        return None if isinstance(answer, Ready) else answer

    def kill(self) -> None:
        """Begin its end; a render that is under way hears of it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> int:
        """Wait until its process is gone, and give its exit code, negative for a signal. No render is under way."""
        code = await self._process.wait()
        self._channel.close()
        return code

    async def failed(self) -> RenderFailed:
        """See it off after it closed its side, and tell how it ended; give the error to raise."""
        try:
            async with asyncio.timeout(_END_S):
                await self._process.wait()
        except TimeoutError:
            self.kill()
        code = await self.ended()
        observe(DecoderEnded(f"signal {-code}" if code < 0 else f"code {code}"))
        return RenderFailed()

    async def _answer(self) -> Answer | None:
        """Wait for an answer; None if it ends before or speaks nonsense."""
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


class Decoders:
    """At most `processes` decoders. A job needs a place; jobs beyond that wait for one, in line."""

    def __init__(self, limits: Limits, *, processes: int, idle_timeout: float) -> None:
        self._limits = limits
        self._idle_timeout = idle_timeout
        self._loop = asyncio.get_running_loop()
        self.places = asyncio.Semaphore(processes)
        self._working: set[Decoder] = set()
        self._resting: deque[tuple[Decoder, asyncio.TimerHandle]] = deque()
        self._ended: set[asyncio.Task[int]] = set()
        self._is_closed = False

    @property
    def working(self) -> int:
        """Give how many renders are under way."""
        return len(self._working)

    @property
    def pids(self) -> list[int]:
        """Give the ids of all processes, those at work first."""
        return [each.pid for each in (*self._working, *(resting for resting, _ in self._resting))]

    async def render(self, job: Job, source: int, result: int) -> Made:
        """Have a job done, by one who holds one of the `places`.

        Raises: RenderTimedOut, RenderFailed, and what the decoder refuses with.
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
        if isinstance(answer, Refused):
            observe(ImageRefused(answer.reason))
            raise REFUSALS.get(answer.error, SourceUnsupported)()
        return answer

    async def close(self) -> None:
        """End all decoders, those at work as well, and start none any more."""
        self._is_closed = True
        for decoder, timer in self._resting:
            timer.cancel()
            self._end(decoder)
        self._resting.clear()
        for decoder in self._working:
            decoder.kill()
        await asyncio.gather(*self._ended, return_exceptions=True)

    async def _take(self) -> Decoder:
        while self._resting:
            decoder, timer = self._resting.pop()  # the one that rested least: the others may end
            timer.cancel()
            if decoder.is_usable:
                return decoder
            self._end(decoder)
        return await Decoder.start(self._limits)

    def _rest(self, decoder: Decoder) -> None:
        if not decoder.is_usable:
            self._end(decoder)
            return
        timer = self._loop.call_later(self._idle_timeout, self._retire, decoder)
        self._resting.append((decoder, timer))

    def _retire(self, decoder: Decoder) -> None:
        self._resting = deque(each for each in self._resting if each[0] is not decoder)
        self._end(decoder)

    def _end(self, decoder: Decoder) -> None:
        decoder.kill()
        task = self._loop.create_task(decoder.ended())
        self._ended.add(task)
        task.add_done_callback(self._ended.discard)


def _environment() -> dict[str, str]:
    """Give what a decoder may know: where our modules lie, and how the library shall work."""
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
