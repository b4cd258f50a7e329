"""Metrics of replication, and an alarm when the slot retains so much of the log that the server will invalidate it."""

import asyncio
from collections.abc import Callable

from broker.observability.observe import gauge, observe
from workers.database.sessions.leadership import Leadership, LeadershipLost
from workers.replication.observations import SlotRetainsTooMuch
from workers.replication.slot import STATEMENTS

_EVERY_S = 10.0
_ANSWER_S = 10.0
_UNLIMITED_ALARM = 1024 * 1024 * 1024
"""Bytes above which a slot is reported if the server sets no limit."""


class SlotMonitor:
    """The metrics of this process: whether it leads, how much of the log the slot retains, and what is confirmed."""

    def __init__(self, slot: str) -> None:
        self._slot = slot
        self.is_leader = False
        self.held_bytes = 0
        self.confirmed: Callable[[], int] = lambda: 0
        self.unconfirmed: Callable[[], int] = lambda: 0
        self._is_alarmed = False
        self._gauges = (
            gauge(
                "headwater_replication_leader",
                "1: this process reads the log.",
                lambda: float(self.is_leader),
            ),
            gauge(
                "headwater_replication_held_bytes",
                "Bytes of the log that the slot retained at the leader's last check.",
                lambda: float(self.held_bytes),
            ),
            gauge(
                "headwater_replication_confirmed_lsn",
                "Position of the log before which every change is published; 0 on a standby.",
                lambda: float(self.confirmed()),
            ),
            gauge(
                "headwater_replication_unconfirmed",
                "Messages that the stream of changes has not stored yet.",
                lambda: float(self.unconfirmed()),
            ),
        )

    def close(self) -> None:
        """Remove the metrics."""
        for remove in self._gauges:
            remove()

    def reset(self) -> None:
        """Report that this process does not lead."""
        self.is_leader, self.held_bytes = False, 0
        self.confirmed = self.unconfirmed = lambda: 0

    async def run(self, leadership: Leadership) -> None:
        """Check the slot every ten seconds. This also detects that the session of the leader does not answer.

        Raises: LeadershipLost, DatabaseError.
        """
        while True:
            if not leadership.is_busy:
                try:
                    async with asyncio.timeout(_ANSWER_S):
                        await self._check(leadership)
                except TimeoutError:
                    raise LeadershipLost("the database does not answer the leader") from None
            await asyncio.sleep(_EVERY_S)

    async def _check(self, leadership: Leadership) -> None:
        rows = await leadership.ask(STATEMENTS["slot"], self._slot)
        if not rows:
            return
        self.held_bytes = rows[0]["held_bytes"]
        limit = max(rows[0]["limit_mb"] or 0, 0) * 1024 * 1024 or 2 * _UNLIMITED_ALARM
        is_much = self.held_bytes > limit // 2
        if is_much and not self._is_alarmed:
            observe(SlotRetainsTooMuch(self._slot, self.held_bytes, limit))
        self._is_alarmed = is_much
