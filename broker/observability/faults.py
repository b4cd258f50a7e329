"""Faults of this process that are present now: which part does not work, and why.

A part is something that an operator can name: `stream CHANGES`, `object store`. The code that uses a part reports its fault
here and clears it when the part works again. From here a fault goes three ways:

- into the log, once when it begins and once when it is over;
- to the supervisor, in the pipe of the signs of life (`broker/processes/heartbeat.py`): `headwater status` shows it, and the
  supervisor restarts nats-server for a fault that nothing else cures (`is_sticky`);
- to the edges, on `events.faults` (`broker/observability/fault_reports.py`): `/health/ready` answers 503 and names the part.

Nothing here may hold a secret: reasons are read by whoever asks for `/health/ready`.
"""

import time
from collections.abc import Callable
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.faults import Fault

MOST = 8
"""Faults of one process."""
LONGEST = 160
"""Characters of a reason."""


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
        self.on_change: list[Callable[[], None]] = []

    @property
    def present(self) -> list[Fault]:
        """The faults that are present now."""
        return [fault for fault, _ in self._present.values()]

    def report(self, part: str, reason: str, *, is_sticky: bool = False) -> None:
        """Note that a part does not work. The same fault again changes nothing; a new reason replaces the old one."""
        fault = Fault(part[:LONGEST], reason[:LONGEST], is_sticky)
        before, since = self._present.get(part, (None, self._clock()))
        if fault == before or (before is None and len(self._present) >= MOST):
            return
        self._present[part] = (fault, since)
        if before is None or before.reason != fault.reason:
            observe(PartFailed(part, fault.reason))
        self._tell()

    def clear(self, part: str) -> None:
        """Note that a part works."""
        if part not in self._present:
            return
        _, since = self._present.pop(part)
        observe(PartRecovered(part, round(self._clock() - since, 3)))
        self._tell()

    def _tell(self) -> None:
        for changed in list(self.on_change):
            changed()


FAULTS = Faults()
"""Those of this process."""
