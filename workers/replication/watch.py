"""How far replication is, for metrics; an alarm when the slot holds back so much of the log that it will be given up."""

import asyncio
from collections.abc import Callable

from broker.observability.observe import gauge, observe
from workers.database.leader import Leadership, LeadershipLost
from workers.replication.observations import SlotHoldsMuch
from workers.replication.slot import STATEMENTS

_EVERY_S = 10.0
_ANSWER_S = 10.0
_UNLIMITED_ALARM = 1024 * 1024 * 1024
"""Bytes beyond which a slot is told of where the server sets no limit."""


class Watch:
    """The numbers of this process: does it lead, how much of the log does the slot hold, where is it confirmed."""

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
                "Bytes of the log that the slot held back when the leader looked last.",
                lambda: float(self.held_bytes),
            ),
            gauge(
                "headwater_replication_confirmed_lsn",
                "Position of the log before which every change is published; 0 on a standby.",
                lambda: float(self.confirmed()),
            ),
            gauge(
                "headwater_replication_unconfirmed",
                "Messages that the stream of changes has not taken yet.",
                lambda: float(self.unconfirmed()),
            ),
        )

    def close(self) -> None:
        """Show the numbers no more."""
        for remove in self._gauges:
            remove()

    def rest(self) -> None:
        """Tell that this process does not lead."""
        self.is_leader, self.held_bytes = False, 0
        self.confirmed = self.unconfirmed = lambda: 0

    async def look_regularly(self, leadership: Leadership) -> None:
        """Look at the slot every ten seconds; so it is noticed too that the session of the leader is silent.

        Raises: LeadershipLost, DatabaseError.
        """
        while True:
            if not leadership.is_busy:
                try:
                    async with asyncio.timeout(_ANSWER_S):
                        await self._look(leadership)
                except TimeoutError:
                    raise LeadershipLost("the database does not answer the leader") from None
            await asyncio.sleep(_EVERY_S)

    async def _look(self, leadership: Leadership) -> None:
        rows = await leadership.ask(STATEMENTS["slot"], self._slot)
        if not rows:
            return
        self.held_bytes = rows[0]["held_bytes"]
        limit = max(rows[0]["limit_mb"] or 0, 0) * 1024 * 1024 or 2 * _UNLIMITED_ALARM
        is_much = self.held_bytes > limit // 2
        if is_much and not self._is_alarmed:
            observe(SlotHoldsMuch(self._slot, self.held_bytes, limit))
        self._is_alarmed = is_much
