"""A defect in the delivery of events: it is reported, and delivery begins again."""

import asyncio

import pytest

from schemas.settings.tree import Settings
from workers.storage.events import delivery
from workers.storage.events.delivery import EventDelivery
from workers.storage.events.drain import OutboxDrain
from workers.storage.events.observations import StorageEventsCrashed


async def test_a_defect_of_the_drain_is_reported_and_it_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[object] = []
    runs_again = asyncio.Event()

    async def run(_: OutboxDrain) -> None:
        if not observed:
            raise AssertionError("a defect")
        runs_again.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(OutboxDrain, "run", run)
    monkeypatch.setattr(delivery, "observe", observed.append)
    monkeypatch.setattr(delivery, "_AFTER_CRASH_S", 0.0)
    events = EventDelivery(None, None, Settings())  # type: ignore[arg-type]  # nothing reaches the broker or the database
    events.begin()
    try:
        async with asyncio.timeout(30):
            await runs_again.wait()
    finally:
        await events.close()

    assert [type(item) for item in observed] == [StorageEventsCrashed]
