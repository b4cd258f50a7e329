"""The log positions of callers who wrote a moment ago, so that their reads do not go to a replica that lacks the write.

Workers publish the position of every write (`POSITIONS`) before they answer it, so an edge knows it before its client does; other edges
know it about as soon as the client can reach them. A caller is who shares a worker fairly (`services/middleware/caller_key.py`):
the user of a token, whatever its session, else an API key at an address. Sessions would be too narrow: a user who writes in one tab
looks at the other.

Bounded: an entry lasts for the longest lag of a replica, after which all replicas that may be read contain the write. Beyond
`MOST` callers in that time all reads go to the primary until the entries end.

Without replicas no position arrives, and `is_empty` is all that a request costs.
"""

import time
from collections.abc import Callable
from typing import ClassVar

from broker.codec import InvalidMessage, MessageDecoder
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.observability.observations import Observation
from broker.observability.observe import observe
from broker.subjects import POSITIONS
from schemas.http import Headers
from schemas.positions import POSITION, CallerPosition, position_token, read_position, read_window_s

MOST = 50_000
"""Callers whose positions are stored at a time."""
_decode = MessageDecoder(CallerPosition)


class TooManyWriters(Observation, frozen=True):
    """So many callers write that all reads go to the primary for a moment."""

    level: ClassVar[str] = "warning"
    callers: int


class RecentWrites:
    """Positions by caller; `clock` returns seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._clock, self._most = clock, most
        self._entries: dict[str, tuple[float, str]] = {}
        self._all_until = 0.0
        self.is_empty = True
        """Whether no caller wrote recently."""

    def follow(self, connection: NatsConnection) -> None:
        """Receive positions for as long as the connection lasts."""
        connection.subscribe(POSITIONS.name, self._receive)

    def note(self, position: CallerPosition) -> None:
        """Store the position of a caller's write."""
        now = self._clock()
        until = now + read_window_s(position.token)
        self.is_empty = False
        old = self._entries.pop(position.caller_key, None)  # the newest is the last one
        if len(self._entries) >= self._most:
            self._drop_ended(now)
        if len(self._entries) >= self._most:
            observe(TooManyWriters(len(self._entries)))
            self._all_until = max(until, *(entry[0] for entry in self._entries.values()))
            self._entries.clear()
        token = position.token
        if old is not None and old[0] > now and read_position(old[1]) > read_position(token):
            # Two writes at a time: their workers' messages may arrive in the other order.
            until, token = max(until, old[0]), old[1]
        self._entries[position.caller_key] = until, token

    def with_position(self, headers: Headers, caller_key: str) -> Headers:
        """Return the headers of a request with the position that its caller must see."""
        now = self._clock()
        if now < self._all_until:
            return [*headers, (POSITION, position_token(None, 0))]
        until, token = self._entries.get(caller_key, (0.0, ""))
        if now < until:
            return [*headers, (POSITION, token)]
        self._drop_ended(now)
        return headers

    def _drop_ended(self, now: float) -> None:
        """Remove the entries that have ended, from the oldest on."""
        while self._entries:
            key = next(iter(self._entries))
            if self._entries[key][0] > now:
                break
            del self._entries[key]
        self.is_empty = not self._entries and now >= self._all_until

    def _receive(self, message: NatsMessage) -> None:
        try:
            position = _decode(message.payload)
        except InvalidMessage:
            return
        self.note(position)
