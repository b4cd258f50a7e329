"""Supervise: start the children in order, keep them running, stop them in reverse.

A child that does not come up at the first start ends the whole start. Later a child that ends is started again, at
once if it had a long life, else after a growing pause; it is never given up.

A child that gives signs of life (`broker/processes/heartbeat.py`) and then gives none for `silence_s` is killed and started again: a
hung event loop or a process stopped by SIGSTOP ends nothing by itself. Time for which this process itself did not run (a
suspended machine, a stopped supervisor) does not count, for nobody read the signs meanwhile. Its state is `silent` before.

With its signs a child reports parts that do not work. They stand in its state, and a stream that does not store although
there is room has nats-server restarted (`broker_store.py`).
"""

import asyncio
import re
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from broker.observability.repeats import Repeats
from services.supervisor.data_folder.state import ChildState
from services.supervisor.errors import StartFailed
from services.supervisor.nats_store import BrokerStore
from services.supervisor.processes.child import Child, Probe, outcome
from services.supervisor.processes.forks import ForkServer, OrphanReaper
from services.supervisor.processes.log_files import LogFile, notice_in, reason_in, warning_in
from services.supervisor.processes.plan import LONG_LIFE_S, Process, Ready, restart_delay
from services.supervisor.report import Reporter

_PATIENCE_S = 5.0
"""After this long a step that is not done says that it is still under way."""
_LOOK_S = 1.0
_SILENT_S = 5.0
"""A child that has given no sign of life for so long is called silent: signs come every two seconds."""
SILENCE_S = 10.0
"""A child that gave signs of life and has given none for so long is killed and started again."""

_NUMBER = re.compile(r"\b[0-9a-f]{6,}(-[0-9a-f]+)?\b|\d+")
"""What lines of one kind may differ in: ids of requests, process ids, counts."""

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """The life of one platform's children. `on_change` gets their states whenever one changes."""

    def __init__(
        self,
        plan: list[Process],
        logs: Path,
        probes: Mapping[Ready, Probe],
        report: Reporter,
        on_change: Callable[[str, list[ChildState]], None],
        silence_s: float = SILENCE_S,
        broker_store: BrokerStore | None = None,
        forks: ForkServer | None = None,
        inherited: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    ) -> None:
        """`inherited` are descriptors that a child's processes get, by its name and the variables that name them."""
        self._silence_s = silence_s
        self._broker_store = broker_store
        self._forks = forks
        self._orphans = OrphanReaper() if forks is not None else None
        self._report = report
        self._on_change = on_change
        self._status = "starting"
        self._repeats: Repeats[str] = Repeats()
        self._stopping = asyncio.Event()
        self._ready = {process.name: asyncio.Event() for process in plan}
        self._states = {process.name: ChildState(process.name, "waiting") for process in plan}
        self._children = [
            Child(
                process,
                LogFile(logs / f"{process.name}.log"),
                probes.get(process.ready),
                self._reader(process.name),
                self._spawned,
                forks,
                (inherited or {}).get(process.name),
            )
            for process in plan
        ]

    async def run(
        self, on_ready: Callable[[], None], settle: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        """Run until a signal asks to stop. Raises: StartFailed if a child does not come up the first time.

        `settle` is what is still to be done with all children running before the platform counts as ready.
        """
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._asked_to_stop)
        keepers = {child.process.name: asyncio.create_task(self._keep(child)) for child in self._children}
        watchdog = asyncio.create_task(self._watch_signs_of_life())
        try:
            for event in self._ready.values():
                await self._until(event, keepers)
            if settle and not self._stopping.is_set():
                await self._settle(settle(), keepers)
            if not self._stopping.is_set():
                self._change("running")
                on_ready()
                await self._until(self._stopping, keepers)
        finally:
            watchdog.cancel()
            self._warn_counts(is_end=True)
            await self._stop(keepers)

    async def _watch_signs_of_life(self) -> None:
        """Kill each child that has been silent for too long; its keeper starts it again."""
        looked_at = time.monotonic()
        while True:
            await asyncio.sleep(min(_LOOK_S, self._silence_s / 4))
            if self._orphans is not None:
                self._orphans.reap({child.pid for child in self._children if child.pid is not None})
            now = time.monotonic()
            asleep, looked_at = max(0.0, now - looked_at - 2 * _LOOK_S), now
            self._warn_counts()
            self._show_faults()
            self._heal_broker(now)
            for child in self._children:
                if child.sign_at is None or not child.is_running:
                    continue
                child.sign_at += asleep
                self._show_silence(child, now - child.sign_at)
                if now - child.sign_at > self._silence_s:
                    self._report.warn(
                        f"{child.process.name} gave no sign of life for {now - child.sign_at:.0f} s: its event loop hangs, "
                        "or the process was stopped. It is killed"
                    )
                    child.sign_at = None
                    child.kill()

    def _show_silence(self, child: Child, silent_s: float) -> None:
        """Have the state of a child say that it is silent, from its last sign of life on, or that it runs again."""
        status = self._states[child.process.name].status
        if status == "running" and silent_s > min(_SILENT_S, self._silence_s / 2):
            self._set(child, "silent", since=time.time() - silent_s)
        elif status == "silent" and silent_s <= _LOOK_S:
            self._set(child, "running")

    def _show_faults(self) -> None:
        """Have the state of each child show the faults that it reports."""
        for child in self._children:
            state = self._states[child.process.name]
            own = child.faults
            if self._broker_store is not None and child.process.ready is Ready.NATS:
                own = self._broker_store.heard
            faults = {fault.part: fault.reason for fault in own} if child.is_running else {}
            if faults != state.faults:
                self._states[child.process.name] = replace(state, faults=faults)
                self._change(self._status)

    def _heal_broker(self, now: float) -> None:
        """End nats-server, whose keeper starts it again, if a stream does not store for no other reason."""
        nats = next((child for child in self._children if child.process.ready is Ready.NATS), None)
        if self._broker_store is None or nats is None or not nats.is_running:
            return
        faults = [fault for child in self._children if child.is_running for fault in child.faults]
        if reason := self._broker_store.reason_to_restart(faults, now):
            self._report.warn(f"{nats.process.name} is restarted: {reason}")
            nats.end()

    async def _settle(
        self, work: Coroutine[Any, Any, None], keepers: Mapping[str, asyncio.Task[None]]
    ) -> None:
        """Await work that an order to stop cuts off."""
        task, done = asyncio.ensure_future(work), asyncio.Event()
        task.add_done_callback(lambda _: done.set())
        try:
            await self._until(done, keepers)
        finally:
            task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
        if isinstance(failure := results[0], Exception):
            raise failure

    async def _until(self, wanted: asyncio.Event, keepers: Mapping[str, asyncio.Task[None]]) -> None:
        """Wait for an event or the order to stop; a keeper's failure is raised."""
        events = [asyncio.ensure_future(event.wait()) for event in (wanted, self._stopping)]
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
        process = child.process
        if process.is_early:
            await child.load()
        for name in process.after:
            await self._ready[name].wait()
        self._set(child, "starting")
        await self._patiently(child.start(), f"{process.label or process.name} is still starting")
        self._report.say(
            f"{process.label or process.name}: ready after {time.monotonic() - child.started:.1f} s"
        )
        self._ready[process.name].set()
        if process.ready is Ready.EXIT:
            self._set(child, "done")
            return
        self._set(child, "running")
        short_lives = 0
        while True:
            code = await child.wait()
            if self._stopping.is_set():
                return
            await child.drained()
            lived = time.monotonic() - child.started
            why = f": {reason_in(child.log.tail)}" if code > 0 else ""
            self._report.warn(f"{process.name} ended with {outcome(code)} and is started again{why}")
            short_lives = await self._revive(child, 0 if lived > LONG_LIFE_S else short_lives)

    async def _revive(self, child: Child, short_lives: int) -> int:
        """Start a child again until it is ready; give the count of short lives, this one included."""
        while True:
            self._set(child, "restarting", restarts=self._states[child.process.name].restarts + 1)
            await asyncio.sleep(restart_delay(short_lives))
            short_lives += 1
            try:
                await child.start()
            except StartFailed as error:
                if short_lives > 1:
                    self._report.warn(f"{error} Trying again")
                continue
            self._report.say(f"{child.process.name} is running again")
            self._set(child, "running")
            return short_lives

    async def _patiently(self, work: Coroutine[Any, Any, T], line: str) -> T:
        """Await something; say now and then that it is still under way."""
        task = asyncio.ensure_future(work)
        began = time.monotonic()
        try:
            while not (await asyncio.wait({task}, timeout=_PATIENCE_S))[0]:
                self._report.say(f"{line} ({time.monotonic() - began:.0f} s)")
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _stop(self, keepers: Mapping[str, asyncio.Task[None]]) -> None:
        """Stop the stages one after another, the last one first."""
        self._stopping.set()
        self._change("stopping")
        for stage in sorted({child.process.stage for child in self._children}, reverse=True):
            members = [child for child in self._children if child.process.stage == stage]
            for child in members:
                keepers[child.process.name].cancel()
            await asyncio.gather(*(keepers[child.process.name] for child in members), return_exceptions=True)
            await asyncio.gather(*(self._end(child) for child in members))
        for child in self._children:
            await child.drained()
            child.log.close()
        if self._forks is not None:
            self._forks.close()

    async def _end(self, child: Child) -> None:
        if child.is_running:
            name = child.process.name
            if not await self._patiently(child.stop(), f"Waiting for {name} to finish what it has begun"):
                self._report.warn(f"{name} did not end in {child.process.stop_timeout:.0f} s and was killed")
        self._set(child, "stopped")

    def _asked_to_stop(self) -> None:
        if not self._stopping.is_set():
            self._report.say("Stopping ...")
            self._stopping.set()
            return
        self._report.warn("Asked to stop again: ending everything at once")
        for child in self._children:
            child.kill()

    def _warn(self, line: str) -> None:
        """Report a line of a child, unless one like it was reported just now; then it is counted (broker/observability/repeats.py)."""
        if self._repeats.admit(_NUMBER.sub("", line), line, time.monotonic()):
            self._report.warn(line)

    def _warn_counts(self, *, is_end: bool = False) -> None:
        for repeated in self._repeats.due(time.monotonic(), is_end=is_end):
            self._report.warn(f"{repeated.line} (and {repeated.count} like it)")

    def _spawned(self, child: Child) -> None:
        """Write down the process id at once: should we be killed, the next start finds what we left behind."""
        if self._broker_store is not None and child.process.ready is Ready.NATS:
            self._broker_store.forget()
        self._set(child, self._states[child.process.name].status)

    def _reader(self, name: str) -> Callable[[bytes], None]:
        def read(line: bytes) -> None:
            if self._broker_store is not None and name == "nats":
                self._broker_store.hear(line)
            if self._stopping.is_set():
                return
            if shown := warning_in(line):
                self._warn(f"{name}: {shown}")
            elif told := notice_in(line):
                self._report.say(told)

        return read

    def _set(
        self, child: Child, status: str, restarts: int | None = None, since: float | None = None
    ) -> None:
        before = self._states[child.process.name]
        live = child.is_running
        self._states[child.process.name] = ChildState(
            name=before.name,
            status=status,
            pid=child.pid if live else None,
            born=child.born if live else None,
            restarts=before.restarts if restarts is None else restarts,
            since=time.time() if since is None else since,
            faults=before.faults if live else {},
        )
        self._change(self._status)

    def _change(self, status: str) -> None:
        self._status = status
        self._on_change(status, list(self._states.values()))
