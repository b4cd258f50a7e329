"""Counts of the calls of each function in this process, as metrics: how many, how many failed, and when the last one was."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from broker.observability.observe import gauge


@dataclass(slots=True)
class CallCount:
    """Calls of one function. `failures`: answers with a status of 500 or more, and calls that got none."""

    calls: int = 0
    failures: int = 0
    called_at: float = 0.0


class FunctionCallCounts:
    """Counts calls from `note` to `close`; a function has metrics from its first call on."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._counts: dict[str, CallCount] = {}
        self._gauges: dict[str, list[Callable[[], None]]] = {}

    def note(self, name: str, status: int) -> None:
        """Count a call by the status of its answer."""
        count = self._counts.get(name)
        if count is None:
            count = self._counts[name] = CallCount()
            self._gauges[name] = _register(name, count)
        count.calls += 1
        count.failures += status >= 500
        count.called_at = self._clock()

    def close(self) -> None:
        """Remove the metrics."""
        for removes in self._gauges.values():
            for remove in removes:
                remove()


def _register(name: str, count: CallCount) -> list[Callable[[], None]]:
    return [
        gauge(
            "headwater_function_calls",
            "Calls of a function since its process started.",
            lambda: count.calls,
            function=name,
        ),
        gauge(
            "headwater_function_failures",
            "Calls of a function that were answered with 5xx, or not at all.",
            lambda: count.failures,
            function=name,
        ),
        gauge(
            "headwater_function_called_at",
            "When a function was called last, in seconds since 1970.",
            lambda: count.called_at,
            function=name,
        ),
    ]
