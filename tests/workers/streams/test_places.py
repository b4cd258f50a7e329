"""The stored place of a copy: not behind messages that arrived while others were being written."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from broker.backoff import Backoff
from broker.jetstream.ordered_reader import StoredMessage
from schemas.settings.streams import StreamSettings
from schemas.settings.types import Duration
from workers.streams import table_copy
from workers.streams.model import CopyPlace, StreamChange
from workers.streams.table_copy import TableCopy


class ReaderOfTwo:
    """Returns a message, and another one while the first is being written."""

    def __init__(self, *_: object) -> None:
        self.after = 0
        self.is_writing, self.has_taken_second = asyncio.Event(), asyncio.Event()

    async def next(self) -> list[StoredMessage]:
        if self.after == 1:
            await self.is_writing.wait()
            self.has_taken_second.set()
        elif self.after == 2:
            await asyncio.Future()
        self.after += 1
        return [StoredMessage(self.after, b"", 0)]

    async def close(self) -> None:
        pass


class OneChangeEach(TableCopy):
    """Takes every message as one change."""

    async def _take(self, stored: StoredMessage, source: Any, target: Any, place: CopyPlace) -> CopyPlace:
        self._began_at = time.monotonic()
        self._gathered.append(StreamChange("U", [b"1"], None, stored.seq, 0, 0, 0))
        return place


async def test_a_message_that_arrives_during_a_write_is_not_noted_as_read(monkeypatch: pytest.MonkeyPatch):
    reader, noted = ReaderOfTwo(), []
    monkeypatch.setattr(table_copy, "StreamReader", lambda *_: reader)
    monkeypatch.setattr(table_copy, "_KEEP_S", 0.0)

    async def nothing(*_: object) -> None:
        pass

    async def write(changes: list[StreamChange], place: CopyPlace) -> None:
        noted.append(("written", place.seq))
        reader.is_writing.set()
        await reader.has_taken_second.wait()
        if place.seq == 2:
            copy.change()

    async def idle(place: CopyPlace, seq: int) -> None:
        noted.append(("idle", seq))

    state: Any = SimpleNamespace(idle=idle, written=nothing)
    target: Any = SimpleNamespace(write=write, tidy=nothing, keeps_place=True)
    source: Any = SimpleNamespace(parts=frozenset(), key=())
    settings = StreamSettings(tables=["t"], every=Duration(0.01))
    copy = OneChangeEach(settings, "t", state, None, None, None, None)  # type: ignore[arg-type]  # it follows, and asks nothing

    async with asyncio.timeout(60):
        await copy._follow(source, target, CopyPlace("", 0, 0, "", 0, "", 0, {}), 0, Backoff(0.1, 1.0))

    assert noted[:3] == [("written", 1), ("idle", 1), ("written", 2)]
