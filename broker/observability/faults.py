"""The present faults of this process: which part does not work, and why.

A part is a thing that operators know by name: `stream CHANGES`, `object store`. The code that uses a part reports its
fault here and clears it when the part works again. A fault is reported in three ways:

- in the log, once when it starts and once when it is over;
- to the supervisor, in the heartbeat pipe (`broker/processes/heartbeat.py`): `headwater status` shows it, and the
  supervisor restarts nats-server for a fault that only a restart repairs (`is_sticky`);
- to the edges, on `events.faults` (`broker/observability/fault_reports.py`): `/health/ready` answers 503 and names
  the part.

Reasons must not contain secrets: every client of `/health/ready` can read them.
"""

import time
from collections.abc import Callable
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.faults import Fault

MOST = 8
"""The largest number of faults of one process."""
LONGEST = 160
"""The largest number of characters of a reason."""


class PartFailed(Observation, frozen=True):
    """A part of the platform does not work."""

    level: ClassVar[str] = "error"
    part: str
    reason: str


class PartRecovered(Observation, frozen=True):
    """A part of the platform works again."""

    part: str
    after_s: float


class Faults:
    """The faults of one process: at most eight at a time, one for each part."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._present: dict[str, tuple[Fault, float]] = {}
        """By part, with the time since when, by the clock."""
        self.on_change: list[Callable[[], None]] = []

    @property
    def present(self) -> list[Fault]:
        """The faults that are present now."""
        return [fault for fault, _ in self._present.values()]

    def report(self, part: str, reason: str, *, is_sticky: bool = False) -> None:
        """Add the fault of a part. The same fault again changes nothing; a new reason replaces the old one.

        While there are `MOST` faults, one of another part is neither stored nor logged.
        """
        fault = Fault(part[:LONGEST], reason[:LONGEST], is_sticky)
        before, since = self._present.get(part, (None, self._clock()))
        if fault == before or (before is None and len(self._present) >= MOST):
            return
        self._present[part] = (fault, since)
        if before is None or before.reason != fault.reason:
            observe(PartFailed(part, fault.reason))
        self._notify()

    def clear(self, part: str) -> None:
        """Remove the fault of a part."""
        if part not in self._present:
            return
        _, since = self._present.pop(part)
        observe(PartRecovered(part, round(self._clock() - since, 3)))
        self._notify()

    def _notify(self) -> None:
        for hook in list(self.on_change):
            hook()


FAULTS = Faults()
"""The faults of this process."""
