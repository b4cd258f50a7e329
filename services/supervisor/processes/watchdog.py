"""Watch the signs of life of running children: kill a silent one, show faults, and restart a nats-server that does not store.

Our own programs write a sign of life every two seconds (`broker/processes/heartbeat.py`). A child that gave signs and then gives
none for `silence_s` is killed, and its keeper starts it again: a hung event loop, or a process stopped by SIGSTOP, does not exit
by itself. For the second half of that time its status is `silent`.

Time in which the supervisor itself did not run (a suspended machine, SIGSTOP) does not count, because it read no signs in it.
"""

import asyncio
import time
from collections.abc import Sequence

from services.supervisor.nats_restart import NatsRestartPolicy
from services.supervisor.processes.child import Child
from services.supervisor.processes.child_states import ChildStates
from services.supervisor.processes.plan import ReadySignal
from services.supervisor.report import Reporter

_PERIOD_S = 1.0
_SILENT_S = 5.0
"""A child without a sign of life for this long has the status `silent`."""
SILENCE_S = 10.0
"""A child that gave signs of life and has given none for this long is killed and started again."""


class Watchdog:
    """Checks the children about once a second; `check` is called by the supervisor's loop."""

    def __init__(
        self,
        children: Sequence[Child],
        states: ChildStates,
        report: Reporter,
        silence_s: float,
        nats_restart: NatsRestartPolicy | None,
    ) -> None:
        self._children = children
        self._states = states
        self._report = report
        self._silence_s = silence_s
        self._nats_restart = nats_restart
        self._nats = next((child for child in children if child.process.ready is ReadySignal.NATS), None)
        self._checked_at = time.monotonic()

    async def pause(self) -> None:
        """Wait until the next check is due."""
        await asyncio.sleep(min(_PERIOD_S, self._silence_s / 4))

    def check(self) -> None:
        """Update silence and faults in the states, and kill or stop children that have to be restarted."""
        now = time.monotonic()
        suspended = max(0.0, now - self._checked_at - 2 * _PERIOD_S)
        self._checked_at = now
        self._show_faults()
        self._restart_nats(now)
        for child in self._children:
            if child.sign_at is not None and child.is_running:
                child.sign_at += suspended
                self._check_silence(child, child.sign_at, now)

    def _check_silence(self, child: Child, sign_at: float, now: float) -> None:
        silent_s = now - sign_at
        status = self._states[child].status
        if status == "running" and silent_s > min(_SILENT_S, self._silence_s / 2):
            self._states.set(child, "silent", since=time.time() - silent_s)
        elif status == "silent" and silent_s <= _PERIOD_S:
            self._states.set(child, "running")
        if silent_s > self._silence_s:
            self._report.warn(
                f"{child.process.name} gave no sign of life for {silent_s:.0f} s: its event loop hangs, "
                "or the process was stopped. It is killed"
            )
            child.sign_at = None
            child.kill()

    def _show_faults(self) -> None:
        """Copy the faults that each child reports into its state; those of nats-server come from its log."""
        for child in self._children:
            is_nats = self._nats_restart is not None and child is self._nats
            faults = self._nats_restart.logged_faults if self._nats_restart and is_nats else child.faults
            self._states.set_faults(child, faults)

    def _restart_nats(self, now: float) -> None:
        """Stop nats-server if a stream does not store although the disk has room; its keeper starts it again."""
        if self._nats_restart is None or self._nats is None or not self._nats.is_running:
            return
        faults = [fault for child in self._children if child.is_running for fault in child.faults]
        if reason := self._nats_restart.reason_to_restart(faults, now):
            self._report.warn(f"{self._nats.process.name} is restarted: {reason}")
            self._nats.request_stop()
