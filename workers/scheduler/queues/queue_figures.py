"""How a consumer does: what waits in its queue, what it has done, and how fast."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from workers.scheduler.queues.outcomes import MessageVerdict
from workers.scheduler.queues.queue_table import QueueFigures


@dataclass(slots=True)
class ConsumerFigures:
    """Figures of one consumer in this process; `done`, `failed` and `set_aside` since they were last taken."""

    problem: str = ""
    """Why it does not consume, empty if it does."""
    underway: int = 0
    queue: QueueFigures | None = None
    done: int = 0
    failed: int = 0
    set_aside: int = 0
    all_done: int = 0
    done_per_s: float = 0.0
    failed_per_s: float = 0.0
    last_error: str = ""
    due_at: float | None = None
    """When the platform has to run for it, in seconds since 1970; now, while messages wait."""
    _counted: tuple[int, int] = (0, 0)
    _measured_at: float = 0.0
    _all_failed: int = 0

    def count(self, verdicts: Sequence[MessageVerdict]) -> None:
        """Count outcomes that are stored."""
        for verdict in verdicts:
            match verdict.kind:
                case "done":
                    self.done += 1
                    self.all_done += 1
                case "retry":
                    self.failed += 1
                    self._all_failed += 1
                    self.last_error = verdict.error
                case "dead":
                    self.failed += 1
                    self._all_failed += 1
                    self.set_aside += 1
                    self.last_error = verdict.error

    def measure(self, queue: QueueFigures, now: float, *, is_taking: bool) -> None:
        """Take figures of the queue, and the rates since the last time; `now` by the clock of the event loop."""
        if self._measured_at:
            span_s = max(now - self._measured_at, 0.001)
            self.done_per_s = (self.all_done - self._counted[0]) / span_s
            self.failed_per_s = (self._all_failed - self._counted[1]) / span_s
        self._counted, self._measured_at, self.queue = (self.all_done, self._all_failed), now, queue
        if not is_taking or queue.next_s is None:
            self.due_at = None
        else:
            self.due_at = time.time() + max(queue.next_s, 0.0)

    def take_counts(self) -> tuple[int, int, int, str]:
        """Return and forget what was counted since the last time: done, failed, set aside, the last error."""
        counts = (self.done, self.failed, self.set_aside, self.last_error)
        self.done = self.failed = self.set_aside = 0
        self.last_error = ""
        return counts
