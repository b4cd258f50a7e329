"""Share a bounded number of slots fairly between callers, with a bounded queue. Pure: the clock is an argument.

A slot is the resource that a running request occupies: a handler of a worker, or a connection to the database.

- Shares ("dynamic threshold", Choudhury and Hahne 1998): a caller may take one more slot while it holds less than
  `_SHARE` times the number of free slots. One caller alone holds three quarters of them, two hold 3/7 each, and a
  slot stays free for the next caller until there are as many callers as slots. The last free slot goes only to a
  caller that holds no slot. Running requests are never stopped, which is why a slot must be free before another
  caller needs it. Places in the queue are shared by the same rule.
- Round robin: waiting callers are served in turn, one request each. The requests of one caller are served in order of
  arrival.
- Standing queues: a caller that has had waiting requests without a break for the longest waiting time sends more than
  it can get, which is not a burst. From then on its requests wait for a tenth of that time at most. Last in, first
  out would answer half of the requests at once and let the other half wait until they are rejected
  (tests/bench/queue_order.py compares both).
- Hopeless requests: the queue estimates how long a request of a caller occupies a slot, from its finished requests
  and from the time since its last start or end (while requests wait, all running ones are at least that old). A rare
  long request changes the estimate little. A request that would get its slot only after `start_by` is rejected when
  it arrives, or as soon as the estimate shows it (`late`), with the seconds until a slot can be expected. The
  estimate may be wrong; `late` enforces `start_by` itself.

Requests of the platform itself (the empty key) may take any free slot. A caller without requests is forgotten, except
for the latest `_REMEMBERED` ones, so memory is bounded by `slots` and `most_waiting`.
"""

import math
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

PLATFORM = ""
"""Key of requests that the platform makes for itself."""

_SHARE = 3
_LEARN, _JUMP, _SHORT_S = 0.2, 4.0, 0.01
"""Weight of the latest request in the mean time that a caller's requests occupy a slot. A longer one counts at most
as `_JUMP` times the mean plus `_SHORT_S`."""
_STANDING = 10
"""Divisor of the longest waiting time in a standing queue."""
_LONGEST_RETRY_S = 60
_REMEMBERED = 64
"""Callers that are remembered without requests."""


class QueueFull(Exception):
    """A request cannot wait. `reason`: `full`, `share`, `late` or `waited`; `retry_after_s`: when it may be repeated."""

    def __init__(self, reason: str, retry_after_s: int = 1) -> None:
        super().__init__(reason)
        self.reason, self.retry_after_s = reason, retry_after_s


def may_take(held: int, free: int) -> bool:
    """Return whether a caller that holds `held` slots may take one more of the `free` ones."""
    return free > 0 if held == 0 else free > 1 and held < _SHARE * free


class WaitingRequest(Generic[T]):
    """An entry of the queue. `start_by`: the time after which it is rejected."""

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
    """The slots and waiting requests of one caller."""

    __slots__ = ("changed_at", "crowded_since", "held", "key", "mean_s", "waiting")

    def __init__(self, key: str) -> None:
        self.key = key
        self.held = 0
        self.changed_at = 0.0
        """When one of its requests last started or ended."""
        self.mean_s = 0.0
        """Mean time that one of its requests occupies a slot; 0 until one has ended while others waited."""
        self.waiting: dict[WaitingRequest[T], None] = {}
        """Its waiting requests, the oldest first."""
        self.crowded_since = 0.0
        """Since when it has had waiting requests without a break."""

    def learn(self, seconds: float) -> None:
        """Add the time that one of its requests occupied a slot to the mean."""
        if self.mean_s:
            self.mean_s += (min(seconds, _JUMP * self.mean_s + _SHORT_S) - self.mean_s) * _LEARN
        else:
            self.mean_s = seconds


class FairQueue(Generic[T]):
    """Shares `slots` between callers; up to `most_waiting` requests wait for one."""

    def __init__(self, slots: int, most_waiting: int) -> None:
        self.slots = slots
        self.used = 0
        self.waiting = 0
        """Number of waiting requests."""
        self._most_waiting = most_waiting
        self._callers: dict[str, _Caller[T]] = {}
        self._turns: dict[_Caller[T], None] = {}
        """Callers with waiting requests, the next one first."""

    @property
    def callers(self) -> int:
        """Return the number of callers that are remembered."""
        return len(self._callers)

    def held(self, key: str) -> int:
        """Return the number of slots that a caller holds."""
        caller = self._callers.get(key)
        return 0 if caller is None else caller.held

    def take(self, key: str, now: float) -> bool:
        """Take a slot at once if one is free, the caller's share allows it, and none of its requests waits. Hot path."""
        free = self.slots - self.used
        if free <= 0:
            return False
        caller = self._callers.get(key)
        if caller is None:
            caller = self._callers[key] = _Caller(key)
        held = caller.held
        if caller.waiting or (held and (free == 1 or held >= _SHARE * free) and key != PLATFORM):
            return False
        caller.held = held + 1
        caller.changed_at = now
        self.used += 1
        return True

    def release(self, key: str, since: float, now: float) -> None:
        """Release a slot that was taken at `since`. Hot path."""
        caller = self._callers[key]
        caller.held -= 1
        caller.changed_at = now
        self.used -= 1
        if caller.waiting:
            caller.learn(now - since)
        elif not caller.held:
            self._forget(caller)

    def wait(
        self, key: str, item: T, now: float, *, longest_s: float, deadline: float = math.inf
    ) -> WaitingRequest[T]:
        """Add a request to the queue: for `longest_s` at most, and only if it can be finished before `deadline`.

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
        """Assign a slot to the next request whose caller may have one, and return it; None if no request can start."""
        if self.used >= self.slots:
            return None
        turns = self._turns
        for _ in range(len(turns)):
            caller = next(iter(turns))
            if len(turns) > 1:  # its next turn comes after those of the others
                del turns[caller]
                turns[caller] = None
            if self._may_take(caller):
                entry = next(iter(caller.waiting))
                self._assign(caller, now)
                self._remove(entry)
                return entry
        return None

    def discard(self, entry: WaitingRequest[T]) -> None:
        """Remove a request from the queue, if it still waits."""
        caller = entry.caller
        if entry in caller.waiting:
            self._remove(entry)
            if not caller.held and not caller.waiting:
                self._forget(caller)

    def late(self, now: float) -> list[tuple[WaitingRequest[T], QueueFull]]:
        """Remove and return the requests that will not get a slot in time, each with the error to report."""
        rejected = []
        for caller in list(self._turns):
            for entry in [waiting for waiting in caller.waiting if waiting.start_by <= now]:
                rejected.append((entry, QueueFull("waited", self._retry_after(caller, 0, now, now))))
                self.discard(entry)
            while caller.waiting:
                last, ahead = next(reversed(caller.waiting)), len(caller.waiting) - 1
                if now + self._wait_s(caller, ahead, now) <= last.start_by:
                    break
                rejected.append(
                    (last, QueueFull("late", self._retry_after(caller, ahead, now, last.start_by)))
                )
                self.discard(last)
        return rejected

    def clear(self) -> Iterator[WaitingRequest[T]]:
        """Remove and return all waiting requests."""
        for caller in list(self._turns):
            for entry in list(caller.waiting):
                self.discard(entry)
                yield entry

    def _forget(self, caller: _Caller[T]) -> None:
        """Forget a caller without requests, unless only few are remembered: most come back soon."""
        if len(self._callers) > _REMEMBERED:
            del self._callers[caller.key]
        caller.mean_s = 0.0

    def _may_take(self, caller: _Caller[T]) -> bool:
        free = self.slots - self.used
        return free > 0 if caller.key == PLATFORM else may_take(caller.held, free)

    def _assign(self, caller: _Caller[T], now: float) -> None:
        caller.held += 1
        caller.changed_at = now
        self.used += 1

    def _remove(self, entry: WaitingRequest[T]) -> None:
        caller = entry.caller
        del caller.waiting[entry]
        self.waiting -= 1
        if not caller.waiting:
            del self._turns[caller]

    def _wait_s(self, caller: _Caller[T], ahead: int, now: float) -> float:
        """Estimate how long a request waits that has `ahead` requests of its caller before it.

        While no request of the caller has ended, only whole rounds count, because the first running one may end now.
        """
        if not caller.held:
            return 0.0
        slots = max(caller.held, self.slots // max(1, len(self._turns)))
        if caller.mean_s:
            return (ahead + 1) * caller.mean_s / slots
        return ahead // slots * (now - caller.changed_at)

    def _retry_after(self, caller: _Caller[T], ahead: int, now: float, start_by: float) -> int:
        late_s = now + self._wait_s(caller, ahead, now) - start_by
        return min(max(1, math.ceil(late_s)), _LONGEST_RETRY_S)
