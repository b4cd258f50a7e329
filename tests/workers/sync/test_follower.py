"""The reader of changes for shapes: a transaction whose messages are taken in parts, with a lost broker between them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from broker.jetstream.ordered_reader import StoredMessage
from schemas.changes import ChangeBatch
from schemas.errors import Unavailable
from workers.sync import follower as follower_module
from workers.sync.follower import StreamFollower


def message(seq: int, *, ends: bool) -> StoredMessage:
    batch = ChangeBatch("public", "t", seq, 0, 0, 0, [], "d", [], xid=7, ends=ends)
    return StoredMessage(seq, msgspec.msgpack.encode(batch), 0)


class InterruptedReader:
    """Returns the first part of a transaction, fails, and then returns the rest."""

    def __init__(self, *_: object) -> None:
        self.after = 0
        self._parts: list[Sequence[StoredMessage] | Exception] = [
            [message(1, ends=False)],
            Unavailable("the broker is away"),
            [message(2, ends=True)],
        ]

    async def next(self) -> list[StoredMessage]:
        if not self._parts:
            await asyncio.Event().wait()
        part = self._parts.pop(0)
        if isinstance(part, Exception):
            raise part
        self.after = part[-1].seq
        return list(part)

    async def close(self) -> None:
        pass


class RecordingRegistry:
    """Notes the messages that reach the shapes."""

    def __init__(self) -> None:
        self.seq = self.safe_seq = self.reached = 0
        self.applied: list[int] = []
        self.has_advanced = asyncio.Event()
        self.index = SimpleNamespace(of=self._of)

    def _of(self, batches: Sequence[ChangeBatch]) -> list[object]:
        self.applied += [batch.lsn for batch in batches]
        return []

    def advance(self, reached: int, seq: int) -> None:
        if seq == 2:
            self.has_advanced.set()


async def test_a_part_of_a_transaction_outlives_a_broker_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "StreamReader", InterruptedReader)
    registry = RecordingRegistry()

    async def connected() -> None:
        pass

    connection = SimpleNamespace(connected=connected, is_connected=True)
    follower = StreamFollower(connection, registry, tmp_path / "place.json")  # type: ignore[arg-type]  # as much of both as it uses
    follower.run()
    try:
        async with asyncio.timeout(60):
            await registry.has_advanced.wait()
    finally:
        await follower.close()

    assert registry.applied == [1, 2]
