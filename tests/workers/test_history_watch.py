"""Whether tables have a history is asked again after a failure of the database that passes."""

import asyncio

import pytest

from workers import history_watch
from workers.database.errors import DatabaseError
from workers.database.transactions.causes import STATE
from workers.history_watch import HistoryWatch


class FailingOnce:
    """A database that fails at the first question."""

    def __init__(self, code: str) -> None:
        self.errors = [DatabaseError(code, "it failed")]

    async def run(self, _: object) -> list[list[tuple[bytes, bytes]]]:
        if self.errors:
            raise self.errors.pop()
        return [[(b"f", b"t")]]


async def test_a_failure_that_passes_is_followed_by_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_watch, "_RETRY_S", 0.0)
    monkeypatch.setattr(STATE, "is_needed", False)
    is_wanted = asyncio.Event()
    watch = HistoryWatch(FailingOnce("57014"))  # type: ignore[arg-type]  # as much of the pool as it uses
    watch.on_wanted(is_wanted.set)
    watch.changed()
    watch.start()
    try:
        async with asyncio.timeout(30):
            await is_wanted.wait()
    finally:
        await watch.close()
