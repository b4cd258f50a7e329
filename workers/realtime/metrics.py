"""Metrics of the realtime pool, and which errors were reported recently."""

import time
from collections.abc import Callable, Iterable

from broker.observability.observe import gauge

_QUESTIONS = "headwater_realtime_questions"
_SECONDS = "headwater_realtime_question_seconds"
_RULES = "headwater_realtime_rules"
_REPORT_EVERY_S = 60.0
_MOST_REPORTED = 1000


class RealtimeMetrics:
    """Queries and their seconds by name, and how many rules of tables were recognised."""

    def __init__(self) -> None:
        self.questions: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.rules = {True: 0, False: 0}
        self._reported: dict[tuple[str, ...], float] = {}

    def is_news(self, *what: str) -> bool:
        """Return whether an error was not reported in the last minute: a broken policy fails for every change of a row."""
        now = time.monotonic()
        if now < self._reported.get(what, 0.0):
            return False
        if len(self._reported) >= _MOST_REPORTED:
            self._reported.clear()
        self._reported[what] = now + _REPORT_EVERY_S
        return True

    def answered(self, kind: str, seconds: float) -> None:
        """Count a query."""
        self.questions[kind] = self.questions.get(kind, 0) + 1
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds

    def recognised(self, is_whole: bool) -> None:
        """Count the rule of a table with row security: whether all of it can be evaluated without SQL."""
        self.rules[is_whole] += 1

    def register(self, kinds: Iterable[str]) -> Callable[[], None]:
        """Register the metrics; return a function that removes them."""
        removers = [remove for kind in kinds for remove in (self._questions_of(kind), self._seconds_of(kind))]
        removers += [self._rules_of(True, "recognised"), self._rules_of(False, "sql")]

        def remove_all() -> None:
            for remove in removers:
                remove()

        return remove_all

    def _questions_of(self, kind: str) -> Callable[[], None]:
        help = "Queries of the realtime edges that were answered."
        return gauge(_QUESTIONS, help, lambda: self.questions.get(kind, 0), question=kind)

    def _seconds_of(self, kind: str) -> Callable[[], None]:
        help = "Time spent on the queries of the realtime edges."
        return gauge(_SECONDS, help, lambda: self.seconds.get(kind, 0.0), question=kind)

    def _rules_of(self, is_whole: bool, by: str) -> Callable[[], None]:
        help = (
            "Rules of tables with row security, by how rows are judged: by look-ups, or by SQL for some part."
        )
        return gauge(_RULES, help, lambda: self.rules[is_whole], by=by)
