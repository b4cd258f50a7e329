"""A candidate whose work fails as often as it leads."""

import asyncio

import pytest

from broker.backoff import Backoff
from tests.workers.database.own_server import OwnServer
from workers.database.errors import DatabaseError
from workers.database.sessions import leader_candidate
from workers.database.sessions.leader_candidate import LeaderCandidate
from workers.database.sessions.leadership import Leadership

PAUSES: list[float] = []
HAS_FOUR = asyncio.Event()


class RecordedBackoff(Backoff):
    """Notes its pauses instead of sleeping."""

    async def wait(self) -> None:
        PAUSES.append(self.next_s())
        if len(PAUSES) == 4:
            HAS_FOUR.set()
        await asyncio.sleep(0)


async def test_work_that_fails_at_once_is_tried_again_after_growing_pauses_and_reported_once(
    server: OwnServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(leader_candidate, "Backoff", RecordedBackoff)
    reasons: list[str] = []

    async def fail(_: Leadership) -> None:
        raise DatabaseError("53100", "the disk is full")

    candidate = LeaderCandidate(
        server.url, (7, 20), fail, name="failing", on_lost=reasons.append, on_crash=reasons.append
    )
    candidate.begin()
    try:
        async with asyncio.timeout(60):
            await HAS_FOUR.wait()
    finally:
        await candidate.close()

    assert PAUSES[3] > 4 * PAUSES[0]
    assert reasons == ["SQLSTATE 53100"]
