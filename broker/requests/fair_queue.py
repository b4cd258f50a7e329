"""Fair shares of a bounded number of places between callers, and the bounded queue before them. Pure: the clock is an argument.

A place is whatever a request needs one of to be at work: a handler of a worker, a connection to the database.

- Shares ("dynamic threshold", Choudhury and Hahne 1998): a caller may take one more place while it holds less than `_SHARE` times
  those that are free. A caller alone holds three quarters of them, two hold 3/7 each, and some place is always free for the
  next one, until there are as many callers as places. The last free place goes only to a caller that holds none. Nothing
  that runs is stopped: so a place must stay free before another caller needs it. Places in the queue are shared by the same rule.
- Turns: callers that wait are served in turn, one request each; a caller's own requests in the order in which they came.
- Standing queues: a caller whose requests have waited without a break for as long as one may wait sends too many, not too many at
  once. From then on they may wait for a tenth of that time. Last in, first out would answer half of the requests at once and
  let the other half wait until they are refused (tests/bench/queue_order.py compares both).
- Hopeless requests: how long a caller's requests keep a place is known from those that ended, and from the time since one began
  or ended last: while requests wait, all that run are at least that old. A rare long one changes that little. A request that would
  get its place only after `start_by` is refused when it comes, or as soon as that shows (`late`), with the seconds after which a
  place may be expected. The estimate may err; `start_by` itself is kept by `late`.

Requests of the platform itself (the empty key) may take any free place. Callers are forgotten when their last request goes (but for
the latest `_KEPT`), so memory is bounded by `places` and `most_waiting`.
"""

import math
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

PLATFORM = ""
"""Key of requests that the platform makes for itself."""

_SHARE = 3
_LEARN, _JUMP, _SHORT_S = 0.2, 4.0, 0.01
"""Weight of the latest request in the time for which a caller's requests keep a place; one that took longer counts as `_JUMP` times
that time and `_SHORT_S`."""
_STANDING = 10
"""How much shorter requests may wait in a standing queue."""
_LONGEST_RETRY_S = 60
_KEPT = 64
"""Callers that are remembered while they hold nothing."""


class QueueFull(Exception):
    """A request cannot wait: why (`full`, `share` or `late`), and when it may be repeated, in seconds."""

    def __init__(self, reason: str, retry_after_s: int = 1) -> None:
        super().__init__(reason)
        self.reason, self.retry_after_s = reason, retry_after_s


def may_take(held: int, free: int) -> bool:
    """Return whether a caller that holds `held` places may take one more of the `free` ones."""
    return free > 0 if held == 0 else free > 1 and held < _SHARE * free


class WaitingRequest(Generic[T]):
    """A request that waits."""

    __slots__ = ("caller", "item", "since", "start_by")

    def __init__(self, caller: "_Caller[T]", item: T, since: float, start_by: float) -> None:
        self.caller = caller
        self.item = item
        self.since = since
        self.start_by = start_by

    @property
    def key(self) -> str:
        """Return the key of the caller."""
        return self.caller.key


class _Caller(Generic[T]):
    """What is known of a caller while it holds a place or waits for one."""

    __slots__ = ("crowded_since", "held", "key", "mean_s", "moved", "waiting")

    def __init__(self, key: str) -> None:
        self.key = key
        self.held = 0
        self.moved = 0.0
        """When one of its requests began or ended last."""
        self.mean_s = 0.0
        """How long one of its requests keeps a place; 0 while none has ended with others waiting."""
        self.waiting: dict[WaitingRequest[T], None] = {}
        """Its requests that wait, the oldest first."""
        self.crowded_since = 0.0
        """Since when some of its requests wait."""

    def learn(self, seconds: float) -> None:
        """Note how long one of its requests kept a place."""
        if self.mean_s:
            self.mean_s += (min(seconds, _JUMP * self.mean_s + _SHORT_S) - self.mean_s) * _LEARN
        else:
            self.mean_s = seconds


class FairQueue(Generic[T]):
    """Shares `places` between callers; up to `most_waiting` requests wait for one."""

    def __init__(self, places: int, most_waiting: int) -> None:
        self.places = places
        self.used = 0
        self.waiting = 0
        """Requests that wait."""
        self._most_waiting = most_waiting
        self._callers: dict[str, _Caller[T]] = {}
        self._turns: dict[_Caller[T], None] = {}
        """Callers that wait, the next one first."""

    @property
    def callers(self) -> int:
        """Return how many callers something is remembered of."""
        return len(self._callers)

    def held(self, key: str) -> int:
        """Return how many places a caller holds."""
        caller = self._callers.get(key)
        return 0 if caller is None else caller.held

    def take(self, key: str, now: float) -> bool:
        """Take a place at once, if one is free that the caller may have and none of its requests waits. Hot path."""
        free = self.places - self.used
        if free <= 0:
            return False
        caller = self._callers.get(key)
        if caller is None:
            caller = self._callers[key] = _Caller(key)
        held = caller.held
        if caller.waiting or (held and (free == 1 or held >= _SHARE * free) and key != PLATFORM):
            return False
        caller.held = held + 1
        caller.moved = now
        self.used += 1
        return True

    def release(self, key: str, since: float, now: float) -> None:
        """Give back a place that was taken at `since`. Hot path."""
        caller = self._callers[key]
        caller.held -= 1
        caller.moved = now
        self.used -= 1
        if caller.waiting:
            caller.learn(now - since)
        elif not caller.held:
            self._forget(caller)

    def wait(
        self, key: str, item: T, now: float, *, longest_s: float, deadline: float = math.inf
    ) -> WaitingRequest[T]:
        """Let a request wait for a place: for `longest_s` at most, and so that it can be done before `deadline`.

        Raises: QueueFull.
        """
        caller = self._callers.get(key)
        if caller is None:
            caller = _Caller(key)
        room, ahead = self._most_waiting - self.waiting, len(caller.waiting)
        if room <= 0:
            raise QueueFull("full")
        if ahead:
            if key != PLATFORM and not may_take(ahead, room):
                raise QueueFull("share", self._retry_after(caller, ahead, now, now + longest_s))
            if now - caller.crowded_since > longest_s:
                longest_s /= _STANDING
        start_by = min(now + longest_s, deadline - caller.mean_s)
        if start_by < now + self._wait_s(caller, ahead, now):
            raise QueueFull("late", self._retry_after(caller, ahead, now, start_by))
        if not ahead:
            self._callers[key] = caller
            self._turns[caller] = None
            caller.crowded_since = now
        entry = WaitingRequest(caller, item, now, start_by)
        caller.waiting[entry] = None
        self.waiting += 1
        return entry

    def next(self, now: float) -> WaitingRequest[T] | None:
        """Give a place to the request whose turn it is, of a caller that may have one; return None if there is none."""
        if self.used >= self.places:
            return None
        turns = self._turns
        for _ in range(len(turns)):
            caller = next(iter(turns))
            if len(turns) > 1:  # its next turn comes after those of the others
                del turns[caller]
                turns[caller] = None
            if self._may_take(caller):
                entry = next(iter(caller.waiting))
                self._hold(caller, now)
                self._remove(entry)
                return entry
        return None

    def discard(self, entry: WaitingRequest[T]) -> None:
        """Let a request wait no longer. One that does not wait any more is left as it is."""
        caller = entry.caller
        if entry in caller.waiting:
            self._remove(entry)
            if not caller.held and not caller.waiting:
                self._forget(caller)

    def late(self, now: float) -> list[tuple[WaitingRequest[T], QueueFull]]:
        """Let those wait no longer that will not get a place in time; return them, each with what is to be raised for it."""
        refused = []
        for caller in list(self._turns):
            for entry in [each for each in caller.waiting if each.start_by <= now]:
                refused.append((entry, QueueFull("waited", self._retry_after(caller, 0, now, now))))
                self.discard(entry)
            while caller.waiting:
                last, ahead = next(reversed(caller.waiting)), len(caller.waiting) - 1
                if now + self._wait_s(caller, ahead, now) <= last.start_by:
                    break
                refused.append(
                    (last, QueueFull("late", self._retry_after(caller, ahead, now, last.start_by)))
                )
                self.discard(last)
        return refused

    def clear(self) -> Iterator[WaitingRequest[T]]:
        """Let no request wait any longer; return those that did."""
        for caller in list(self._turns):
            for entry in list(caller.waiting):
                self.discard(entry)
                yield entry

    def _forget(self, caller: _Caller[T]) -> None:
        """Forget a caller that is gone, unless only few are known: most come back soon."""
        if len(self._callers) > _KEPT:
            del self._callers[caller.key]
        caller.mean_s = 0.0

    def _may_take(self, caller: _Caller[T]) -> bool:
        free = self.places - self.used
        return free > 0 if caller.key == PLATFORM else may_take(caller.held, free)

    def _hold(self, caller: _Caller[T], now: float) -> None:
        caller.held += 1
        caller.moved = now
        self.used += 1

    def _remove(self, entry: WaitingRequest[T]) -> None:
        caller = entry.caller
        del caller.waiting[entry]
        self.waiting -= 1
        if not caller.waiting:
            del self._turns[caller]

    def _wait_s(self, caller: _Caller[T], ahead: int, now: float) -> float:
        """Estimate how long a request waits that has `ahead` of its caller before it.

        While none has ended, only whole rounds count, for the first one may end now.
        """
        if not caller.held:
            return 0.0
        places = max(caller.held, self.places // max(1, len(self._turns)))
        if caller.mean_s:
            return (ahead + 1) * caller.mean_s / places
        return ahead // places * (now - caller.moved)

    def _retry_after(self, caller: _Caller[T], ahead: int, now: float, start_by: float) -> int:
        late_s = now + self._wait_s(caller, ahead, now) - start_by
        return min(max(1, math.ceil(late_s)), _LONGEST_RETRY_S)
