"""The stream of events as a follower sees it, through the plain client that users have."""

import asyncio
from collections.abc import Callable

import msgspec
import nats
import nats.errors
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from schemas.storage_events import StorageEvent
from tests.workers.storage.events.webhook_server import PATIENCE_S


async def until(is_so: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.01)


class Stream:
    """Reads the stream from its beginning, message by message."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Client | None = None

    async def messages(self) -> list[tuple[str, bytes]]:
        """Give the subject and the payload of all messages there are now; none where there is no stream."""
        jetstream = (await self._connected()).jetstream()
        try:
            state = (await jetstream.stream_info("STORAGE_EVENTS")).state
        except NotFoundError:
            return []
        numbers = range(state.first_seq, state.last_seq + 1) if state.messages else ()
        found = [await jetstream.get_msg("STORAGE_EVENTS", number) for number in numbers]
        return [(each.subject or "", each.data or b"") for each in found]

    async def events(self) -> list[StorageEvent]:
        """Give all events there are now, in the order of the stream."""
        return [msgspec.json.decode(data, type=StorageEvent) for _, data in await self.messages()]

    async def having(self, count: int) -> list[StorageEvent]:
        """Wait for so many events, and give them; there are no more."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := await self.events()) < count:
                await asyncio.sleep(0.02)
        assert len(found) == count, found
        return found

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = await nats.connect(self._url, reconnect_time_wait=0.05, max_reconnect_attempts=-1)
        return self._client
