"""Remembers up to where the clients of all edges acknowledged row changes, for clients that join again without `resume`.

Theory. Every member of the pool receives the positions of every edge (subject CLIENT_POSITIONS) and stores them in memory. When
a member starts, the edges report their open channels at once. A client is recognized by a hash, which several clients can share
(two tabs of one browser). So that none of them misses a change, in whatever order they return, each gets the lowest position of
all candidates, while the candidate with the highest position is lent: the last one to return gets the lowest position, too.
Some of them receive changes twice; none misses any.

A lent position stays here until its edge reports it as used, in the message that also reports the channel that goes on from it.
If the client or the edge is gone before that, nothing was used, and the next join gets the position again.

Candidates are channels whose connection broke. If all of them are lent, channels of other edges that count as open are candidates,
because an edge that was killed cannot report its broken ones. Open channels of the edge that sends the query are never used: that
edge knows them. Pure; the clock is an argument.
"""

from dataclasses import dataclass

from schemas.changes import Position
from schemas.realtime import ClientPositions, PositionAnswer, PositionQuery

MOST_POSITIONS = 100_000
"""Positions that one member remembers; beyond it, those with the oldest report are removed."""
_Key = tuple[str, int]


@dataclass(slots=True)
class _Remembered:
    client: bytes
    position: Position
    is_broken: bool
    at: float
    is_lent: bool = False


class RememberedPositions:
    """The positions that a member of the pool remembers, each for `window_s` after its last report."""

    def __init__(self, window_s: float, most: int = MOST_POSITIONS) -> None:
        self._window_s, self._most = window_s, most
        self._positions: dict[_Key, _Remembered] = {}
        """Ordered by the time of the last report."""
        self._keys: dict[bytes, set[_Key]] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def update(self, report: ClientPositions, now: float) -> None:
        """Apply the report of an edge."""
        for key in report.used:
            self._forget(key)
        for channel in report.channels:
            key = (report.edge, channel.number)
            self._forget(key)
            if channel.state != "left" and self._window_s > 0:
                is_broken = channel.state == "broken"
                self._positions[key] = _Remembered(channel.client, channel.position, is_broken, now)
                self._keys.setdefault(channel.client, set()).add(key)
        self._forget_old(now)

    def take(self, query: PositionQuery, now: float) -> PositionAnswer:
        """Return the position after which a client that joined again goes on, and lend one candidate."""
        self._forget_old(now)
        keys = self._keys.get(query.client, set())
        broken = [key for key in keys if self._positions[key].is_broken]
        candidates = broken
        if all(self._positions[key].is_lent for key in broken):
            candidates = broken + [key for key in keys - set(broken) if key[0] != query.edge]
        if not candidates:
            return PositionAnswer()
        candidates.sort(key=lambda key: (self._positions[key].position, key))
        lowest = self._positions[candidates[0]].position
        unlent = [key for key in candidates if not self._positions[key].is_lent]
        lent = (unlent or candidates)[-1]
        self._positions[lent].is_lent = True
        return PositionAnswer(lowest, *lent)

    def _forget(self, key: _Key) -> None:
        remembered = self._positions.pop(key, None)
        if remembered is None:
            return
        keys = self._keys[remembered.client]
        keys.discard(key)
        if not keys:
            del self._keys[remembered.client]

    def _forget_old(self, now: float) -> None:
        """Remove positions that were not reported within the window, and the oldest ones beyond the limit."""
        while self._positions:
            key = next(iter(self._positions))
            is_old = now - self._positions[key].at > self._window_s
            if not is_old and len(self._positions) <= self._most:
                return
            self._forget(key)
