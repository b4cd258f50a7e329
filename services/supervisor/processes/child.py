"""One child process over its restarts: started, ready, exited, stopped. Its output goes to its log file.

A child gets a session of its own, so Ctrl-C in a terminal reaches only the supervisor, which stops the children in order.
On Linux the kernel signals a child when the supervisor dies, however that happens.

A child signals that it is ready in one of four ways (`plan.Ready`). Our own programs write lines into the pipe
`HEADWATER_READY_FD`: first that they are ready, later signs of life with the faults they know of. A child that is started early
loads its code and then waits until a line arrives in the pipe `HEADWATER_GO_FD`.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker.processes.fork_orders import FORK_FD
from broker.processes.status_lines import LOADING, READY, parse_heartbeat
from schemas.faults import Fault
from services.supervisor.errors import StartFailed
from services.supervisor.processes.fork_plan import FORK_SERVER
from services.supervisor.processes.forks import ForkedProcess, ForkFailed, ForkServer
from services.supervisor.processes.identity import identity
from services.supervisor.processes.log_files import LogFile, reason_in, refusal_in
from services.supervisor.processes.plan import ChildPlan, ReadySignal
from services.supervisor.processes.prepared_programs import PreparedPrograms
from services.supervisor.processes.spawn import exit_text, read_pipe, spawn
from services.supervisor.processes.start_limit import StartLimit, present_limit

Probe = Callable[[int], Awaitable[bool]]
"""Returns whether the child with this process id is ready."""

_PROBE_PAUSE_S = 0.02
_LIMIT_LOOK_S = 5.0
"""Seconds between looks at how busy the machine is."""
_OUTPUT_S = 0.2


class Child:
    """A running or exited child. `on_line` gets each line of its output; `on_spawn` is called with every new process."""

    def __init__(
        self,
        process: ChildPlan,
        log: LogFile,
        probe: Probe | None,
        on_line: Callable[[bytes], None],
        on_spawn: Callable[["Child"], None],
        forks: ForkServer | None = None,
        programs: PreparedPrograms | None = None,
        inherited: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self.process = process
        self.log = log
        self.pid: int | None = None
        self.born: str | None = None
        """Start time of the process, which identifies it together with its id (`identity.py`)."""
        self.started = 0.0
        self.sign_at: float | None = None
        """Monotonic time of the last sign of life; None: the process gives none (yet)."""
        self.faults: list[Fault] = []
        """Parts that do not work, as the process reported with its last sign of life."""
        self._probe = probe
        self._on_line = on_line
        self._on_spawn = on_spawn
        self._forks, self._programs = forks, programs
        self._inherited = inherited or {}
        """Descriptors that every process of this child gets, by the variables that name them."""
        self._running: asyncio.subprocess.Process | ForkedProcess | None = None
        self._output_ended = asyncio.Event()
        self._output_ended.set()
        self._early: tuple[asyncio.Event, int] | None = None
        """Of a process that was started early: its readiness event, and our end of its pipe `HEADWATER_GO_FD`."""

    async def load(self) -> None:
        """Start the process early: it loads its code and then waits for `start`. Raises: StartFailed."""
        waiting_end, our_end = os.pipe()
        try:
            self._early = await self._spawn(waiting_end), our_end
        except BaseException:
            os.close(our_end)
            raise
        finally:
            os.close(waiting_end)

    async def start(self) -> None:
        """Start the child and wait until it is ready. Raises: StartFailed if it exits or takes too long."""
        self.started = time.monotonic()
        if self._early is None:
            self.log.tail.clear()
            readiness = await self._spawn()
        else:
            (readiness, go), self._early = self._early, None
            with contextlib.suppress(BrokenPipeError):
                os.write(go, b"go\n")
            os.close(go)
        exited = asyncio.ensure_future(self.wait())
        ready = asyncio.ensure_future(self._wait_until_ready(readiness))
        try:
            limit = await self._wait_within_limit({exited, ready})
            if ready.done() and (self.process.ready is not ReadySignal.EXIT or exited.done()):
                ready.result()
            elif exited.done():
                await self.wait_for_output()
                raise StartFailed(self._failure(f"ended with {exit_text(exited.result())}"))
            else:
                self.kill()
                why = f" ({limit.reason})" if limit.reason else ""
                raise StartFailed(self._failure(f"was not ready after {limit.seconds:.0f} s{why}"))
        finally:
            exited.cancel()
            ready.cancel()
            await asyncio.gather(exited, ready, return_exceptions=True)

    async def _wait_within_limit(self, ends: set[asyncio.Future[Any]]) -> StartLimit:
        """Wait for one of the ends, no longer than the limit, which grows while the machine is busy; return the limit."""
        usual_s = self.process.start_timeout
        if usual_s is None:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return StartLimit(0.0)
        while True:
            limit = present_limit(usual_s)
            left_s = self.started + limit.seconds - time.monotonic()
            if left_s <= 0:
                return limit
            done, _ = await asyncio.wait(
                ends, timeout=min(left_s, _LIMIT_LOOK_S), return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return limit

    async def wait(self) -> int:
        """Wait until the child exits; return its exit code, negative for a signal."""
        return await self._running.wait() if self._running else 0

    async def stop(self) -> bool:
        """Send the stop signal and wait for the exit; return False if the child had to be killed."""
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

    async def wait_for_output(self) -> None:
        """Wait at most 0.2 s until all output of an exited child is in its log."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_OUTPUT_S):
                await self._output_ended.wait()

    def request_stop(self) -> None:
        """Send the stop signal without waiting for the exit."""
        self._signal(self.process.stop_signal)

    def request_reload(self) -> None:
        """Ask the child to read its configuration again."""
        self._signal(signal.SIGHUP)

    def kill(self) -> None:
        """Kill the child."""
        self._signal(signal.SIGKILL)

    @property
    def is_running(self) -> bool:
        """Whether the child's process runs."""
        return self._running is not None and self._running.returncode is None

    def _signal(self, number: int) -> bool:
        if not self.is_running or self._running is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            self._running.send_signal(number)
        return True

    async def _spawn(self, go: int | None = None) -> asyncio.Event:
        """Start a process, which may wait for a line in the pipe `go`; return its readiness event."""
        output, its_output = os.pipe()
        signs, its_signs = os.pipe()
        passed = dict(self._inherited)
        if self.process.ready is ReadySignal.PIPE:
            passed["HEADWATER_READY_FD"] = (its_signs,)
        if go is not None:
            passed["HEADWATER_GO_FD"] = (go,)
        readiness = asyncio.Event()
        try:
            self._running = await self._fork(its_output, passed) or await self._execute(its_output, passed)
        except OSError as error:
            for descriptor in (output, signs):
                os.close(descriptor)
            raise StartFailed(
                self._failure(f"cannot be run ({error.strerror}: {self.process.argv[0]})")
            ) from None
        finally:
            os.close(its_output)
            os.close(its_signs)
        self.pid = self._running.pid
        self.born = identity(self.pid)
        self.sign_at, self.faults = None, []
        self._on_spawn(self)
        self._output_ended = asyncio.Event()
        read_pipe(output, self._read_output, self._output_ended.set)
        read_pipe(signs, lambda data: self._read_signs(data, readiness))
        return readiness

    async def _fork(self, output: int, passed: Mapping[str, Sequence[int]]) -> ForkedProcess | None:
        """Get the process from the fork server; None if it is not forkable, or the fork server does not run."""
        if self._forks is None or not self.process.is_forked:
            return None
        try:
            return await self._forks.fork(self.process, self._folder, output, passed)
        except ForkFailed:
            return None

    async def _execute(
        self, output: int, passed: Mapping[str, Sequence[int]]
    ) -> asyncio.subprocess.Process | ForkedProcess:
        """Start the process in a prepared fork, if one is left, else by its command line. Raises: OSError."""
        if self._forks is None or self.process.name != FORK_SERVER:
            return await self._run_program(output, passed)
        with self._forks.connect() as control:
            return await self._run_program(output, {**passed, FORK_FD: (control.fileno(),)})

    async def _run_program(
        self, output: int, passed: Mapping[str, Sequence[int]]
    ) -> asyncio.subprocess.Process | ForkedProcess:
        prepared = self._programs.take(self.process) if self._programs is not None else None
        if prepared is not None:
            return prepared.become(self.process, self._folder, output, passed)
        return await spawn(self.process, self._folder, output, passed)

    @property
    def _folder(self) -> Path:
        """Working directory: the data folder, which another user (Postgres') may not enter."""
        return self.log.path.parent.parent if self.process.user is None else Path("/")

    def _read_signs(self, data: bytes, readiness: asyncio.Event) -> None:
        """Read what the process writes into `HEADWATER_READY_FD`: that it is ready, then signs of life.

        A program that loads another one before it serves (`workers/functions/placeholder.py`) says so first; that is not readiness.
        """
        lines = data.splitlines(keepends=True)
        if READY in lines:
            readiness.set()
        last = lines[-1]
        if (faults := parse_heartbeat(last)) is not None:
            self.sign_at, self.faults = time.monotonic(), faults
        elif last == LOADING:
            self.sign_at = None

    def _read_output(self, data: bytes) -> None:
        for line in self.log.write(data):
            self._on_line(line)

    async def _wait_until_ready(self, readiness: asyncio.Event) -> None:
        match self.process.ready:
            case ReadySignal.PIPE:
                await readiness.wait()
            case ReadySignal.EXIT:
                if (code := await self.wait()) != 0:
                    await self.wait_for_output()
                    raise StartFailed(self._failure(f"ended with {exit_text(code)}"))
            case _:
                while not (self._probe and self.pid and await self._probe(self.pid)):  # noqa: ASYNC110 - a server outside of this loop
                    await asyncio.sleep(_PROBE_PAUSE_S)

    def _failure(self, event: str) -> str:
        """Return the error text of a failed start: the child's own, else the event with the best line of its log."""
        if refusal := refusal_in(self.log.tail):
            return refusal
        name = self.process.label or self.process.name
        return f"{name} {event}: {reason_in(self.log.tail).rstrip('.')}. Its log {self.log.path} tells more."
