"""One child process with a life: started, ready, ended, stopped. Its output goes to its log file.

A child gets its own session, so Ctrl-C in a terminal reaches the supervisor alone, which stops children in order.
On Linux the kernel tells a child when the supervisor dies, however that happens.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from broker.processes.fork_server import FORK_FD
from broker.processes.status_lines import LOADING, read_sign
from schemas.faults import Fault
from services.supervisor.errors import StartFailed
from services.supervisor.postgres.system_user import run_as
from services.supervisor.processes.fork_plan import FORK_SERVER
from services.supervisor.processes.forks import ForkedProcess, ForkFailed, ForkServer
from services.supervisor.processes.identity import identity
from services.supervisor.processes.log_files import LogFile, reason_in, refusal_in
from services.supervisor.processes.plan import Process, Ready

Probe = Callable[[int], Awaitable[bool]]
"""Tells whether the child of this process id is ready."""

_PROBE_PAUSE_S = 0.02
_DRAIN_S = 0.2
_READ_SIZE = 64 * 1024
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class Child:
    """A running or ended child. `on_line` gets each line of its output; `on_spawn` hears of every new process."""

    def __init__(
        self,
        process: Process,
        log: LogFile,
        probe: Probe | None,
        on_line: Callable[[bytes], None],
        on_spawn: Callable[["Child"], None],
        forks: ForkServer | None = None,
        inherited: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.process = process
        self.log = log
        self.pid: int | None = None
        self.born: str | None = None
        self.started = 0.0
        self.sign_at: float | None = None
        """When the process gave its last sign of life, by the monotonic clock; None: it gives none (yet)."""
        self.faults: list[Fault] = []
        """What the process reported with it: parts that do not work."""
        self._probe = probe
        self._on_line = on_line
        self._on_spawn = on_spawn
        self._forks = forks
        self._inherited = inherited or {}
        """Descriptors that every process of this child gets, by the variables that name them."""
        self._running: asyncio.subprocess.Process | ForkedProcess | None = None
        self._silent = asyncio.Event()
        self._silent.set()
        self._ahead: tuple[asyncio.Event, int] | None = None

    async def load(self) -> None:
        """Start the child ahead of what it waits for: it loads its code until `start`. Raises: StartFailed."""
        its_go, go = os.pipe()
        try:
            self._ahead = await self._spawn(its_go), go
        except BaseException:
            os.close(go)
            raise
        finally:
            os.close(its_go)

    async def start(self) -> None:
        """Start the child and wait until it is ready. Raises: StartFailed if it ends or takes too long."""
        self.started = time.monotonic()
        if self._ahead is None:
            self.log.tail.clear()
            told = await self._spawn()
        else:
            (told, go), self._ahead = self._ahead, None
            with contextlib.suppress(BrokenPipeError):
                os.write(go, b"go\n")
            os.close(go)
        ended = asyncio.ensure_future(self.wait())
        ready = asyncio.ensure_future(self._is_ready(told))
        try:
            await asyncio.wait(
                {ended, ready}, timeout=self.process.start_timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if ready.done() and (self.process.ready is not Ready.EXIT or ended.done()):
                ready.result()
            elif ended.done():
                await self.drained()
                raise StartFailed(self._why(f"ended with {outcome(ended.result())}"))
            else:
                self.kill()
                raise StartFailed(self._why(f"was not ready after {self.process.start_timeout:.0f} s"))
        finally:
            ended.cancel()
            ready.cancel()
            await asyncio.gather(ended, ready, return_exceptions=True)

    async def wait(self) -> int:
        """Wait until the child ends; give its exit code, negative for a signal."""
        return await self._running.wait() if self._running else 0

    async def stop(self) -> bool:
        """Ask the child to end; give False if it had to be killed."""
        if not self._signal(self.process.stop_signal):
            return True
        try:
            async with asyncio.timeout(self.process.stop_timeout):
                await self.wait()
        except TimeoutError:
            self.kill()
            await self.wait()
            return False
        return True

    async def drained(self) -> None:
        """Wait a moment until all that an ended child wrote is in its log."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                await self._silent.wait()

    def end(self) -> None:
        """Ask the child to end, and do not wait for it."""
        self._signal(self.process.stop_signal)

    def kill(self) -> None:
        """End the child at once."""
        self._signal(signal.SIGKILL)

    @property
    def is_running(self) -> bool:
        """Whether the child lives."""
        return self._running is not None and self._running.returncode is None

    def _signal(self, number: int) -> bool:
        if not self.is_running or self._running is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            self._running.send_signal(number)
        return True

    async def _spawn(self, go: int | None = None) -> asyncio.Event:
        """Start the process, which may wait for a word in a pipe; give the event of its readiness line."""
        output, its_output = os.pipe()
        readiness, its_readiness = os.pipe()
        passed = dict(self._inherited)
        if self.process.ready is Ready.PIPE:
            passed["HEADWATER_READY_FD"] = (its_readiness,)
        if go is not None:
            passed["HEADWATER_GO_FD"] = (go,)
        told = asyncio.Event()
        try:
            self._running = await self._forked(its_output, passed) or await self._executed(its_output, passed)
        except OSError as error:
            for descriptor in (output, readiness):
                os.close(descriptor)
            raise StartFailed(
                self._why(f"cannot be run ({error.strerror}: {self.process.argv[0]})")
            ) from None
        finally:
            os.close(its_output)
            os.close(its_readiness)
        self.pid = self._running.pid
        self.born = identity(self.pid)
        self.sign_at, self.faults = None, []
        self._on_spawn(self)
        self._silent = asyncio.Event()
        _follow(output, self._take, self._silent.set)
        _follow(readiness, lambda data: self._hear(data, told))
        return told

    async def _forked(self, output: int, passed: Mapping[str, Sequence[int]]) -> ForkedProcess | None:
        """Have the process forked; None where it cannot be, or where the fork server is away."""
        if self._forks is None or not self.process.is_forked:
            return None
        try:
            return await self._forks.fork(self.process, self._folder, output, passed)
        except ForkFailed:
            return None

    async def _executed(self, output: int, passed: Mapping[str, Sequence[int]]) -> asyncio.subprocess.Process:
        """Start the process by its command line. Raises: OSError."""
        control = None
        if self._forks is not None and self.process.name == FORK_SERVER:
            control = self._forks.connect()
            passed = {**passed, FORK_FD: (control.fileno(),)}
        variables = {name: ",".join(map(str, numbers)) for name, numbers in passed.items()}
        try:
            return await asyncio.create_subprocess_exec(
                *self.process.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**self.process.environment, **variables},
                cwd=self._folder,
                pass_fds=[number for numbers in passed.values() for number in numbers],
                start_new_session=True,
                preexec_fn=_tied_to(os.getpid(), self.process.stop_signal),
                **run_as(self.process.user),
            )
        finally:
            if control is not None:
                control.close()

    @property
    def _folder(self) -> Path:
        return self.log.path.parent.parent if self.process.user is None else Path("/")

    def _hear(self, data: bytes, told: asyncio.Event) -> None:
        """Read what the process writes into its pipe: that it is ready, then signs of life."""
        if b"\n" in data:
            told.set()
        last = data.splitlines()[-1] + b"\n"
        if (faults := read_sign(last)) is not None:
            self.sign_at, self.faults = time.monotonic(), faults
        elif last == LOADING:
            self.sign_at = None

    def _take(self, data: bytes) -> None:
        for line in self.log.write(data):
            self._on_line(line)

    async def _is_ready(self, told: asyncio.Event) -> None:
        match self.process.ready:
            case Ready.PIPE:
                await told.wait()
            case Ready.EXIT:
                if (code := await self.wait()) != 0:
                    await self.drained()
                    raise StartFailed(self._why(f"ended with {outcome(code)}"))
            case _:
                while not (self._probe and self.pid and await self._probe(self.pid)):  # noqa: ASYNC110 - a server outside of this loop
                    await asyncio.sleep(_PROBE_PAUSE_S)

    def _why(self, what: str) -> str:
        if refusal := refusal_in(self.log.tail):
            return refusal
        name = self.process.label or self.process.name
        return f"{name} {what}: {reason_in(self.log.tail).rstrip('.')}. Its log {self.log.path} tells more."


def outcome(code: int) -> str:
    """Give an exit code in words: code 1, signal SIGKILL."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"code {code}"


def _tied_to(parent: int, number: int) -> Callable[[], None] | None:
    """Give what a child runs before its program: it asks for a signal when the parent dies."""
    if _LIBC is None:
        return None
    prctl = _LIBC.prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _follow(
    descriptor: int, take: Callable[[bytes], None], at_end: Callable[[], None] = lambda: None
) -> None:
    """Read a pipe until its end; the event loop calls `take` with each piece, then `at_end`."""
    loop = asyncio.get_running_loop()
    os.set_blocking(descriptor, False)

    def read() -> None:
        try:
            data = os.read(descriptor, _READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            take(data)
        else:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            at_end()

    loop.add_reader(descriptor, read)
