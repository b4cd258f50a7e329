"""Read a stream in order, with waits that another event may interrupt. What arrives meanwhile is returned by the next call.

`StreamReader.next` cannot be cancelled without losing messages: it counts them as taken when it returns. So an interrupted wait goes
on in the background. Its reader may be ahead of what the caller has received; `after` never is, so it may be stored as the place
from which to read on.
"""

import asyncio

from broker.jetstream.ordered_reader import StoredMessage, StreamReader


class InterruptibleReader:
    """Reads from `reader`, which nothing else uses. `after` is the place up to which `next` has returned everything."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._reading: asyncio.Task[list[StoredMessage]] | None = None
        self.after = reader.after

    async def next(self, interruption: asyncio.Event) -> list[StoredMessage]:
        """Wait for messages, or until the event is set; an empty list if there are none.

        Raises: as `StreamReader.next`.
        """
        reading = self._reading = self._reading or asyncio.ensure_future(self._reader.next())
        interrupted = asyncio.ensure_future(interruption.wait())
        try:
            await asyncio.wait((reading, interrupted), return_when=asyncio.FIRST_COMPLETED)
        finally:
            interrupted.cancel()
        if not reading.done():
            return []
        self._reading, self.after = None, self._reader.after
        return reading.result()

    async def close(self) -> None:
        """Stop reading. What has arrived and was not returned is above `after`: another reader gets it."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None
        await self._reader.close()
