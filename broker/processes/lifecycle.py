"""Run one process from start to exit, the same for every edge and worker: ready, drain, exit.

    start --> main(process) --> process.ready() --> await process.stopped() --> main returns --> exit
                                     |                    ^
                          reports to the supervisor    SIGTERM or SIGINT: first the steps of `on_drain`, the last added first

- `ready` writes a line into the pipe whose number the supervisor passes in `HEADWATER_READY_FD`; heartbeats follow in
  the same pipe until the process exits (`broker/processes/heartbeat.py`).
- A second signal stops the process at once. So does a drain that takes longer than `pools.drain_timeout`.
- A supervisor may start a process in advance, with a pipe in `HEADWATER_GO_FD`: `wait_for_go` waits for a line in it.
- When the supervisor dies its children stop too: on Linux the kernel signals them, elsewhere the parent's id changes.
- Exit codes: 0 regular exit, 1 crash, 2 unusable settings, 3 the drain was not finished in time.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from broker.observability.log_buffer import LogBuffer
from broker.observability.observations import (
    DrainFailed,
    ProcessCrashed,
    ProcessDraining,
    ProcessEnded,
    ProcessReady,
    SettingsRefused,
)
from broker.observability.observe import configure, observe, store_lines, traceback_of, watch_loop
from broker.observability.tracing import start_tracing, stop_tracing
from broker.processes.collector import settle_collector
from broker.processes.heartbeat import remove_stale_file, start_heartbeat
from broker.processes.mapped_files import release_file_pages
from broker.processes.secret_files import with_file_values
from broker.processes.status_lines import READY
from schemas.settings.environment import read_environment
from schemas.settings.reading import load_settings
from schemas.settings.tree import Settings, SettingsError

if sys.platform == "win32":
    from asyncio import new_event_loop
else:
    from uvloop import new_event_loop

OK, CRASHED, BAD_SETTINGS, NOT_DRAINED = 0, 1, 2, 3

READY_FD = "HEADWATER_READY_FD"
GO_FD = "HEADWATER_GO_FD"
_PARENT_S = 1.0
_LAST_MOMENT_S = 1.0
_LATER_STEPS_S = 2.0
"""What the drain steps after the open requests get of the drain timeout: this or a tenth of it, but at most half."""

Step = Callable[[], Awaitable[object]]


class ManagedProcess:
    """The process as its `main` sees it: `main` reports readiness, registers drain steps and waits for the stop."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self._started_at = time.monotonic()
        self._is_ready = False
        self._steps: list[Step] = []
        self._after_ready: list[Callable[[], object]] = []
        self._stop_requested = asyncio.Event()
        self._stopped = asyncio.Event()
        self._reason = ""
        self._has_failed = False
        self._draining_since: float | None = None
        self._heartbeat: asyncio.Task[None] | None = None

    def ready(self) -> None:
        """Report to the supervisor that this process can work."""
        if self._is_ready:
            return
        self._is_ready = True
        settle_collector()
        release_file_pages()
        observe(ProcessReady(round(time.monotonic() - self._started_at, 3)))
        number = os.environ.pop(READY_FD, "")
        pipe = int(number) if number.isdigit() else None
        if pipe is not None:
            try:
                os.write(pipe, READY)
            except BrokenPipeError:
                self.stop("the supervisor is gone")
        self._heartbeat = start_heartbeat(os.environ, pipe)
        for begin in self._after_ready:
            begin()

    def on_ready(self, begin: Callable[[], object]) -> None:
        """Register what is called once this process is ready: it begins work that the start does not wait for."""
        self._after_ready.append(begin)

    def on_drain(self, step: Step) -> None:
        """Register a step that is awaited before the exit; the last registered one is awaited first."""
        self._steps.append(step)

    def stop(self, reason: str) -> None:
        """Start the drain, as a signal would."""
        if not self._stop_requested.is_set():
            self._reason = reason
            self._stop_requested.set()

    def fail(self, reason: str) -> None:
        """Start the drain because this process cannot work; its exit code is that of a crash, so that it is started again."""
        self._has_failed = True
        self.stop(reason)

    async def stopped(self) -> None:
        """Wait until a stop was requested and everything is drained."""
        await self._stopped.wait()

    def requests_may_take_s(self) -> float:
        """Return for how many seconds the drain may still wait for open requests. The steps after them need the rest."""
        began = self._draining_since
        elapsed_s = 0.0 if began is None else time.monotonic() - began
        return max(share_of_requests_s(self.settings.pools.drain_timeout) - elapsed_s, 0.0)

    async def run(self, main: Callable[["ManagedProcess"], Awaitable[None]]) -> int:
        """Run `main` until it returns, or until a requested stop is finished; return the exit code."""
        work = asyncio.ensure_future(main(self))
        stop = asyncio.ensure_future(self._stop_requested.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        code = _outcome(work) if work.done() else CRASHED if self._has_failed else OK
        if not work.done():
            observe(ProcessDraining(self._reason))
        self._draining_since = time.monotonic()
        try:
            async with asyncio.timeout(self.settings.pools.drain_timeout):
                await self._drain()
                if not self._is_ready:
                    work.cancel()  # it was still starting and does not wait for `stopped`
                await asyncio.wait([work])
        except TimeoutError:
            code = code or NOT_DRAINED
            work.cancel()
            await asyncio.wait([work], timeout=_LAST_MOMENT_S)
        return code or _outcome(work)

    async def _drain(self) -> None:
        while self._steps:
            step = self._steps.pop()
            try:
                await step()
            except Exception as error:  # one failing step must not keep the others from running
                observe(DrainFailed(getattr(step, "__qualname__", repr(step)), repr(error)))
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        self._stopped.set()


def share_of_requests_s(drain_s: float) -> float:
    """Return how much of a drain of so many seconds may be spent on open requests."""
    return max(drain_s - min(max(_LATER_STEPS_S, drain_s / 10), drain_s / 2), 0.0)


def run_process(name: str, main: Callable[[ManagedProcess], Awaitable[None]], settings: Settings) -> int:
    """Set up logging, tracing, the event loop and the signals, run a process, and return its exit code."""
    remove_stale_file(os.environ)
    configure(settings.log.level, settings.log.format, name)
    if settings.log.store.enabled and settings.management.enabled:
        store_lines(LogBuffer(os.environ.get("HEADWATER_PROCESS") or name, settings.log.store))
    try:
        start_tracing(settings.observability, name, settings.project_id)
    except SettingsError as error:
        observe(SettingsRefused(str(error)))
        return BAD_SETTINGS
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        code = runner.run(_live(name, main, settings))
    stop_tracing()
    observe(ProcessEnded(code))
    return code


def wait_for_go() -> None:
    """Wait, with the code loaded, until the supervisor writes to the pipe; exit if it closes the pipe."""
    number = os.environ.pop(GO_FD, "")
    if number.isdigit():
        line = os.read(int(number), 8)
        os.close(int(number))
        if not line:
            sys.exit(OK)


def process_settings() -> Settings:
    """Read the settings of this process: `HEADWATER_CONFIG` names a file, the rest comes from the environment.

    Warnings go to stderr, unless a supervisor has already reported them. Raises: SettingsError.
    """
    path = os.environ.get("HEADWATER_CONFIG", "")
    try:
        config = Path(path).read_bytes() if path else b""
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    settings, warnings = load_settings(config, with_file_values(os.environ), source=path or "config.toml")
    if READY_FD not in os.environ:
        for warning in warnings:
            print(f"headwater: {warning}", file=sys.stderr)
    return settings


def environment_variables() -> dict[str, str]:
    """Return which settings the environment of this process sets: dotted path -> variable. Raises: SettingsError."""
    return read_environment(with_file_values(os.environ)).variables


async def _live(name: str, main: Callable[[ManagedProcess], Awaitable[None]], settings: Settings) -> int:
    loop = asyncio.get_running_loop()
    watch_loop(loop)
    process = ManagedProcess(name, settings)

    def on_signal(number: signal.Signals) -> None:
        if process._stop_requested.is_set():
            observe(ProcessEnded(NOT_DRAINED))
            os._exit(NOT_DRAINED)
        process.stop(number.name)

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # not on Windows: there Ctrl-C stops the process at once
            loop.add_signal_handler(number, on_signal, number)
    watcher = loop.create_task(_watch_parent(process)) if os.environ.get(READY_FD) else None
    try:
        return await process.run(main)
    finally:
        if watcher is not None:
            watcher.cancel()


async def _watch_parent(process: ManagedProcess) -> None:
    parent = os.getppid()
    while os.getppid() == parent:  # noqa: ASYNC110 - the system has no event for it everywhere
        await asyncio.sleep(_PARENT_S)
    process.stop("the supervisor is gone")


def _outcome(work: "asyncio.Future[None]") -> int:
    """Return the exit code of a `main` that has ended, and report its exception."""
    if not work.done() or work.cancelled():
        return OK
    error = work.exception()
    match error:
        case None:
            return OK
        case SettingsError():
            observe(SettingsRefused(str(error)))
            return BAD_SETTINGS
    observe(ProcessCrashed(repr(error), traceback_of(error)))
    return CRASHED
