"""Supervise: start the children in order, keep them running, stop them in reverse order.

A child that does not become ready at the first start fails the whole start. Later, a child that exits is started again: at once
if it ran for more than 30 s, else after a growing pause; the supervisor never gives up. A child that hangs is killed
(`watchdog.py`) and started again in the same way.

Each child has a task, its keeper, which waits for the children it depends on, starts it, and restarts it. The children stop stage by
stage: edges before pools before servers.
"""

import asyncio
import re
import signal
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from broker.observability.repeats import RepeatCounter
from services.supervisor.data_folder.state import ChildState
from services.supervisor.errors import StartFailed
from services.supervisor.nats_restart import NatsRestartPolicy
from services.supervisor.processes.child import Child, Probe
from services.supervisor.processes.child_states import ChildStates
from services.supervisor.processes.forks import ForkServer, OrphanReaper
from services.supervisor.processes.log_files import LogFile, is_nats_warning, notice_in, reason_in, warning_in
from services.supervisor.processes.plan import LONG_LIFE_S, ChildPlan, ReadySignal, restart_delay
from services.supervisor.processes.prepared_programs import PreparedPrograms
from services.supervisor.processes.spawn import exit_text
from services.supervisor.processes.watchdog import SILENCE_S, Watchdog
from services.supervisor.report import Reporter

_PROGRESS_S = 5.0
"""A step that takes longer than this is reported as still under way, again after each such interval."""

_NUMBER = re.compile(r"\b[0-9a-f]{6,}(-[0-9a-f]+)?\b|\d+")
"""What may differ between lines that are repetitions of each other: request ids, process ids, counts."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

T = TypeVar("T")


class Supervisor:
    """Starts, keeps and stops one platform's children. `on_change` gets their states whenever one changes."""

    def __init__(
        self,
        plan: list[ChildPlan],
        logs: Path,
        probes: Mapping[ReadySignal, Probe],
        report: Reporter,
        on_change: Callable[[str, list[ChildState]], None],
        silence_s: float = SILENCE_S,
        nats_restart: NatsRestartPolicy | None = None,
        forks: ForkServer | None = None,
        programs: PreparedPrograms | None = None,
        inherited: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
        *,
        is_upgrade: bool = False,
        before: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        """`inherited` are descriptors that a child's processes get, by its name and the variables that name them.

        `is_upgrade`: warnings of nats-server stay in its log until the platform is ready: it warns about each file of an older format,
        which it converts. `before` are functions that block and must have returned before a child's first start, by its name; they run
        beside the loading of other children.
        """
        self._before = before or {}
        self._hides_nats_warnings = is_upgrade
        self._nats_restart = nats_restart
        self._forks, self._programs = forks, programs
        self._orphans = OrphanReaper() if forks is not None else None
        self._report = report
        self._repeats: RepeatCounter[str] = RepeatCounter()
        self._stopping = asyncio.Event()
        self._ready = {process.name: asyncio.Event() for process in plan}
        self._states = ChildStates([process.name for process in plan], on_change)
        self._children = [
            Child(
                process,
                LogFile(logs / f"{process.name}.log"),
                probes.get(process.ready),
                self._line_reader(process.name),
                self._record_process,
                forks,
                programs,
                (inherited or {}).get(process.name),
            )
            for process in plan
        ]
        self._watchdog = Watchdog(self._children, self._states, report, silence_s, nats_restart)

    async def run(
        self, on_ready: Callable[[], None], settle: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        """Run until a signal asks to stop. Raises: StartFailed if a child does not become ready the first time.

        `settle` is work to be done with all children running before the platform counts as ready.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_stop_signal)
        keepers = {child.process.name: asyncio.create_task(self._keep(child)) for child in self._children}
        watching = asyncio.create_task(self._watch())
        try:
            for event in self._ready.values():
                await self._until(event, keepers)
            if settle and not self._stopping.is_set():
                await self._settle(settle(), keepers)
            if not self._stopping.is_set():
                if self._programs is not None:
                    self._programs.close()
                self._states.set_platform("running")
                self._hides_nats_warnings = False
                on_ready()
                await self._until(self._stopping, keepers)
        finally:
            watching.cancel()
            self._warn_counts(is_end=True)
            await self._stop(keepers)

    def reload(self, names: Collection[str]) -> None:
        """Ask the children of these names that run to read their configuration again; one that starts reads it anyway."""
        for child in self._children:
            if child.process.name in names and self._states[child].status == "running":
                child.request_reload()

    async def _watch(self) -> None:
        """Reap orphans, report counted warnings and check the signs of life, about once a second."""
        while True:
            await self._watchdog.pause()
            if self._orphans is not None:
                self._orphans.reap({child.pid for child in self._children if child.pid is not None})
            self._warn_counts()
            self._watchdog.check()

    async def _settle(
        self, work: Coroutine[Any, Any, None], keepers: Mapping[str, asyncio.Task[None]]
    ) -> None:
        """Await work, or cancel it when the platform is asked to stop."""
        task, done = asyncio.ensure_future(work), asyncio.Event()
        task.add_done_callback(lambda _: done.set())
        try:
            await self._until(done, keepers)
        finally:
            task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
        if isinstance(failure := results[0], Exception):
            raise failure

    async def _until(self, awaited: asyncio.Event, keepers: Mapping[str, asyncio.Task[None]]) -> None:
        """Wait for an event or for the request to stop; raise the error of a keeper that fails meanwhile."""
        events = [asyncio.ensure_future(event.wait()) for event in (awaited, self._stopping)]
        waiting: set[asyncio.Future[Any]] = {*events, *keepers.values()}
        try:
            while not any(event.done() for event in events):
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for event in events:
                event.cancel()

    async def _keep(self, child: Child) -> None:
        """Start a child when what it depends on is ready, and start it again whenever it exits."""
        process = child.process
        if process.is_early:
            await child.load()
        if process.name in self._before:
            await asyncio.to_thread(self._before[process.name])
        for name in process.after:
            await self._ready[name].wait()
        self._states.set(child, "starting")
        await self._with_progress(child.start(), f"{process.label or process.name} is still starting")
        self._report.info(
            f"{process.label or process.name}: ready after {time.monotonic() - child.started:.1f} s"
        )
        self._ready[process.name].set()
        if process.ready is ReadySignal.EXIT:
            self._states.set(child, "done")
            return
        self._states.set(child, "running")
        short_lives = 0
        while True:
            code = await child.wait()
            if self._stopping.is_set():
                return
            await child.wait_for_output()
            lived = time.monotonic() - child.started
            why = f": {reason_in(child.log.tail)}" if code > 0 else ""
            self._report.warn(f"{process.name} ended with {exit_text(code)} and is started again{why}")
            short_lives = await self._restart(child, 0 if lived > LONG_LIFE_S else short_lives)

    async def _restart(self, child: Child, short_lives: int) -> int:
        """Start a child until it is ready; return the number of short lives in a row, this one included."""
        while True:
            self._states.set(child, "restarting", restarts=self._states[child].restarts + 1)
            await asyncio.sleep(restart_delay(short_lives))
            short_lives += 1
            try:
                await child.start()
            except StartFailed as error:
                if short_lives > 1:
                    self._report.warn(f"{error} Trying again")
                continue
            self._report.info(f"{child.process.name} is running again")
            self._states.set(child, "running")
            return short_lives

    async def _with_progress(self, work: Coroutine[Any, Any, T], line: str) -> T:
        """Await work; every five seconds report that it is still under way."""
        task = asyncio.ensure_future(work)
        began = time.monotonic()
        try:
            while not (await asyncio.wait({task}, timeout=_PROGRESS_S))[0]:
                self._report.info(f"{line} ({time.monotonic() - began:.0f} s)")
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _stop(self, keepers: Mapping[str, asyncio.Task[None]]) -> None:
        """Stop the stages one after another, the last one first."""
        self._stopping.set()
        self._states.set_platform("stopping")
        for stage in sorted({child.process.stage for child in self._children}, reverse=True):
            members = [child for child in self._children if child.process.stage == stage]
            for child in members:
                keepers[child.process.name].cancel()
            await asyncio.gather(*(keepers[child.process.name] for child in members), return_exceptions=True)
            await asyncio.gather(*(self._stop_child(child) for child in members))
        for child in self._children:
            await child.wait_for_output()
            child.log.close()
        if self._forks is not None:
            self._forks.close()

    async def _stop_child(self, child: Child) -> None:
        if child.is_running:
            name = child.process.name
            if not await self._with_progress(child.stop(), f"Waiting for {name} to finish what it has begun"):
                self._report.warn(f"{name} did not end in {child.process.stop_timeout:.0f} s and was killed")
        self._states.set(child, "stopped")

    def _on_stop_signal(self) -> None:
        """Stop in order; at the second signal kill every child."""
        if not self._stopping.is_set():
            self._report.info("Stopping ...")
            self._stopping.set()
            return
        self._report.warn("Asked to stop again: ending everything at once")
        for child in self._children:
            child.kill()

    def _warn(self, line: str) -> None:
        """Report a line of a child; a repetition of a recent one is only counted (broker/observability/repeats.py)."""
        if self._repeats.admit(_NUMBER.sub("", line), line, time.monotonic()):
            self._report.warn(line)

    def _warn_counts(self, *, is_end: bool = False) -> None:
        for repeated in self._repeats.due(time.monotonic(), is_end=is_end):
            self._report.warn(f"{repeated.line} (and {repeated.count} like it)")

    def _record_process(self, child: Child) -> None:
        if self._nats_restart is not None and child.process.ready is ReadySignal.NATS:
            self._nats_restart.clear_log()
        self._states.set_process(child)

    def _line_reader(self, name: str) -> Callable[[bytes], None]:
        """Return what reads each line of a child's output: its warnings and notices are reported."""

        def read(line: bytes) -> None:
            if self._nats_restart is not None and name == "nats":
                self._nats_restart.read_log_line(line)
            if self._stopping.is_set():
                return
            if name == "nats" and self._hides_nats_warnings and is_nats_warning(line):
                return
            if warning := warning_in(line):
                self._warn(f"{name}: {warning}")
            elif notice := notice_in(line):
                self._report.info(notice)

        return read
