"""The fair queue under load, simulated: first in, first out against last in, first out, with and without refusing what is hopeless.

    python -m tests.bench.queue_order [--seconds 120]

One caller, ten places, requests that arrive at random. Nothing is measured but the queue's own decisions, so it needs no platform
and gives the same figures on every machine.
"""

import argparse
import heapq
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from broker.requests.fair_queue import FairQueue, QueueFull, WaitingRequest

Service = Callable[[random.Random], float]

_LOADS: tuple[tuple[str, Service, float], ...] = (
    ("100 ms each, twice as many as can be done", lambda chance: chance.expovariate(10), 160),
    ("8 s each, ten times as many as can be done", lambda chance: 8.0, 10),
    ("5 ms each, one in a hundred 5 s, 70 % of what can be done", lambda chance: 5.0 if chance.random() < 0.01 else 0.005, 100),
)  # fmt: skip
_SWEEP_S = 0.1
_LONGEST_S = 10.0


@dataclass(slots=True)
class Outcome:
    """How long requests waited: those that were begun, and those that were refused, with the reasons."""

    begun: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)


class _Queue(FairQueue[float]):
    """The queue, in the variant that is asked for."""

    def __init__(self, *, is_last_first: bool, estimates: bool) -> None:
        super().__init__(10, 1024)
        self._is_last_first, self._estimates = is_last_first, estimates

    def next(self, now: float) -> WaitingRequest[float] | None:
        """Begin the oldest request that waits, or the newest."""
        if not self._is_last_first:
            return super().next(now)
        for caller in self._turns:
            if caller.waiting and self._may_take(caller):
                entry = next(reversed(caller.waiting))
                self._assign(caller, now)
                self._remove(entry)
                return entry
        return None

    def _wait_s(self, *arguments: object) -> float:
        return super()._wait_s(*arguments) if self._estimates else 0.0  # type: ignore[arg-type]  # passed on as they are


def simulate(queue: FairQueue[float], service: Service, rate: float, seconds: float) -> Outcome:
    """Let requests of one caller arrive for so long; the item of an entry is the time of its arrival."""
    chance, outcome = random.Random(1), Outcome()
    events: list[tuple[float, int, str, float]] = []
    number = 0

    def plan(at: float, kind: str, since: float = 0.0) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (at, number, kind, since))

    def begin(arrived: float, now: float) -> None:
        outcome.begun.append(now - arrived)
        plan(now + service(chance), "end", now)

    at = 0.0
    while (at := at + chance.expovariate(rate)) < seconds:
        plan(at, "arrive")
    for sweep in range(int((seconds + 2 * _LONGEST_S) / _SWEEP_S)):
        plan(sweep * _SWEEP_S, "sweep")
    while events:
        now, _, kind, since = heapq.heappop(events)
        match kind:
            case "arrive" if queue.take("caller", now):
                begin(now, now)
            case "arrive":
                try:
                    queue.wait("caller", now, now, longest_s=_LONGEST_S)
                except QueueFull as full:
                    outcome.refused.append(0.0)
                    outcome.reasons[full.reason] += 1
            case "end":
                queue.release("caller", since, now)
            case _:
                for entry, hopeless in queue.late(now):
                    outcome.refused.append(now - entry.item)
                    outcome.reasons[hopeless.reason] += 1
        while (entry_begun := queue.next(now)) is not None:
            begin(entry_begun.item, now)
    return outcome


def main() -> None:
    """Print a line for each load and variant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="simulated seconds")
    options = parser.parse_args()
    for name, service, rate in _LOADS:
        print(name)
        for is_last_first in (False, True):
            for estimates in (False, True):
                queue = _Queue(is_last_first=is_last_first, estimates=estimates)
                one = simulate(queue, service, rate, options.seconds)
                order = "last in, first out" if is_last_first else "first in, first out"
                print(
                    f"  {order}, {'refuses' if estimates else 'keeps  '} what is hopeless: begun {len(one.begun):5}"
                    f" after p50 {_at(one.begun, 0.5):5.2f} p99 {_at(one.begun, 0.99):5.2f} s; refused {len(one.refused):5}"
                    f" after p50 {_at(one.refused, 0.5):5.2f} p99 {_at(one.refused, 0.99):5.2f} s {dict(one.reasons)}"
                )


def _at(seconds: list[float], share: float) -> float:
    return sorted(seconds)[int((len(seconds) - 1) * share)] if seconds else 0.0


if __name__ == "__main__":
    main()
