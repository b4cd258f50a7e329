"""Where the primary's log ended at which time, so that a replica's replayed position tells how old its data may be.

A position that was read from the primary after the time `t` contains every commit that was acknowledged before `t`. So a replica that
has replayed up to there shows the data of `t` or later, and its lag is at most the time since `t`. No clock but this process's is
compared, an idle primary does not make a replica look old, and a replica that cannot be measured ages by itself.
"""

from collections import deque

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.positions import end_of_records, parse_lsn
from workers.database.protocol.rows import Row

_MOST_SAMPLES = 1000
EVER = float("-inf")
"""Time before every sample: how old the data is cannot be told."""


class PrimaryChanged(Observation, frozen=True):
    """The primary follows another timeline or is another cluster: replicas are not read until they follow it."""

    timeline: str


class PrimaryLog:
    """The last samples of one primary."""

    def __init__(self) -> None:
        self.identity: tuple[str, str] | None = None
        """Identifier of the cluster and its timeline; None before the first sample."""
        self._samples: deque[tuple[float, int]] = deque(maxlen=_MOST_SAMPLES)

    def add(self, at: float, row: Row) -> None:
        """Add the answer to the statement `primary`, which was sent at the time `at`. A server in recovery is no primary."""
        _, position, system, timeline = (None if value is None else value.decode() for value in row)
        if position is None or system is None or timeline is None:
            self.identity = None
            return
        if self.identity != (system, timeline):
            if self._samples:
                observe(PrimaryChanged(timeline))
            self.identity = (system, timeline)
            self._samples.clear()
        end = end_of_records(parse_lsn(position))
        if self._samples and self._samples[-1][1] == end:
            self._samples.pop()
        self._samples.append((at, end))

    def contained_until(self, replayed: int) -> float:
        """Return the time up to which all commits are contained in what was replayed; `EVER` if that is before the samples."""
        for at, position in reversed(self._samples):
            if position <= replayed:
                return at
        return EVER
