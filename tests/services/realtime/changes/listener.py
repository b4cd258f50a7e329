"""A subscriber of a test: it keeps what it gets, and can be waited on."""

import asyncio
from typing import Any

import msgspec

from schemas.changes import Position
from schemas.realtime import ChangeSubscription
from services.realtime.changes.interface import Delivery

ALL = ChangeSubscription("*", "public", "items")


class Listener:
    """Keeps deliveries and gaps in their order."""

    def __init__(self, role: str = "anon", **claims: object) -> None:
        self.role = role
        self.claims = msgspec.json.encode({"role": role, **claims})
        self.got: list[Delivery] = []
        self.gaps: list[Position | None] = []
        self._heard = asyncio.Event()

    def deliver(self, delivery: Delivery) -> None:
        self.got.append(delivery)
        self._heard.set()

    def gap(self, since: Position | None) -> None:
        self.gaps.append(since)
        self._heard.set()

    def become(self, role: str, **claims: object) -> None:
        self.role, self.claims = role, msgspec.json.encode({"role": role, **claims})

    @property
    def data(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(delivery.data) for delivery in self.got]

    @property
    def ids(self) -> list[int]:
        """The keys of the rows that it got."""
        return [(each.get("record") or each["old_record"])["id"] for each in self.data]

    async def heard(self, count: int, gaps: int = 0) -> None:
        """Wait until it got that many changes and gaps."""
        async with asyncio.timeout(60):
            while len(self.got) < count or len(self.gaps) < gaps:
                self._heard.clear()
                await self._heard.wait()

    async def saw(self, id: int) -> None:
        """Wait until it got a row."""
        async with asyncio.timeout(60):
            while id not in self.ids:
                self._heard.clear()
                await self._heard.wait()
