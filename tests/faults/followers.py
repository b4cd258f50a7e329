"""Sockets that receive the row changes of a campaign: those that resume by position, and plain ones that do not."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from tests.faults.ledger import Ledger, Meaning
from tests.faults.writers import PER_WRITER
from tests.platform import Platform
from tests.platforms.realtime_followers import Follower

CHANGES = "changes"
_PAUSE_S = 0.05
GAP = -1
"""Stands among received ids where the platform said that changes are missing."""


@dataclass
class CountingFollower(Follower):
    """Keeps the ids it received, in their order, instead of whole changes. `ledger`: each is noted there as it arrives."""

    resumes: bool = True
    ledger: Ledger | None = None
    received: list[int] = field(default_factory=list)

    async def run(self) -> None:
        """Follow, also behind errors that a socket is not expected to end with; they are kept in `errors`."""
        while True:
            try:
                await super().run()
            except Exception as error:  # a follower that ends would look like a platform that is silent
                self.errors.append(repr(error))
                self.socket = None
                self.is_live.clear()
                await asyncio.sleep(_PAUSE_S)

    def _take(self, event: str, payload: dict[str, Any]) -> None:
        if event == "postgres_changes":
            id = payload["data"]["record"]["id"]
            self.received.append(id)
            if self.ledger is not None:
                self.ledger.note(CHANGES, id, time.monotonic(), Meaning.ACKNOWLEDGED, "change")
            payload["data"]["record"] = {}
        super()._take(event, payload)
        self.changes.clear()
        if self.gaps and self.gaps.pop():
            self.received.append(GAP)
        if not self.resumes:
            self.position = ""


def make_followers(
    running_platform: Platform, ledger: Ledger, resuming: int, plain: int
) -> list[CountingFollower]:
    """Return followers of all rows; the first of those that resume notes arrivals in the ledger."""
    entry = {"event": "INSERT", "schema": "public", "table": "marks"}
    return [
        *(
            CountingFollower(running_platform, entry, ledger=ledger if number == 0 else None)
            for number in range(resuming)
        ),
        *(CountingFollower(running_platform, entry, resumes=False) for _ in range(plain)),
    ]


@dataclass(frozen=True, slots=True)
class FollowerCounts:
    """What one follower received, compared with what is stored."""

    missing: set[int]
    """Stored, not received, and not covered by a gap that the platform announced."""
    announced: set[int]
    """Stored, not received, and covered by such a gap."""
    doubled: set[int]
    disordered: set[int]
    """Acknowledged rows of one writer that came after a later acknowledged one."""
    invented: set[int]
    """FollowerCounts, and not stored."""


def compare(received: list[int], stored: set[int], acknowledged: set[int]) -> FollowerCounts:
    """Compare the ids that a follower received with those stored (pure).

    A writer sends its next row after the answer for the last, so its acknowledged rows must come in the order of their ids. Rows
    without an answer may have been committed later than the next one, and may stand anywhere.
    """
    seen: set[int] = set()
    doubled: set[int] = set()
    disordered: set[int] = set()
    last: dict[int, int] = {}
    for id in received:
        if id == GAP:
            continue
        if id in seen:
            doubled.add(id)
        elif id in acknowledged:
            writer = id // PER_WRITER
            if id < last.get(writer, -1):
                disordered.add(id)
            last[writer] = max(id, last.get(writer, -1))
        seen.add(id)
    missing = stored - seen
    holes = [
        hole for at, id in enumerate(received) if id == GAP for hole in _holes(received, at, acknowledged)
    ]
    announced = {
        id
        for id in missing
        if any(first < id < last for first, last in holes if first // PER_WRITER == id // PER_WRITER)
    }
    return FollowerCounts(missing - announced, announced, doubled, disordered, seen - stored)


def _holes(received: list[int], at: int, acknowledged: set[int]) -> list[tuple[int, int]]:
    """Return, for each writer, its last acknowledged row before a place in the list and its first one behind."""
    before, behind = dict[int, int](), dict[int, int]()
    for id in received[:at]:
        if id in acknowledged:
            before[id // PER_WRITER] = id
    for id in reversed(received[at:]):
        if id in acknowledged:
            behind[id // PER_WRITER] = id
    return [(before.get(writer, writer * PER_WRITER), id) for writer, id in behind.items()]
