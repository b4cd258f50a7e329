"""What the pool counts of its work, shown among the process's metrics; and what it has told of already."""

import time
from collections.abc import Callable, Iterable

from broker.observability.observe import gauge

_QUESTIONS = "headwater_realtime_questions"
_SECONDS = "headwater_realtime_question_seconds"
_RULES = "headwater_realtime_rules"
_TOLD_S = 60.0
_MOST_TOLD = 1000


class Numbers:
    """Questions and their seconds by kind, and how many rules of tables were recognised."""

    def __init__(self) -> None:
        self.questions: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.rules = {True: 0, False: 0}
        self._told: dict[tuple[str, ...], float] = {}

    def is_news(self, *what: str) -> bool:
        """Tell whether something was not told of in the last minute: a broken policy fails for every change of a row."""
        now = time.monotonic()
        if now < self._told.get(what, 0.0):
            return False
        if len(self._told) >= _MOST_TOLD:
            self._told.clear()
        self._told[what] = now + _TOLD_S
        return True

    def answered(self, kind: str, seconds: float) -> None:
        """Count a question."""
        self.questions[kind] = self.questions.get(kind, 0) + 1
        self.seconds[kind] = self.seconds.get(kind, 0.0) + seconds

    def recognised(self, is_whole: bool) -> None:
        """Count the rule of a table with row security: whether all of it can be judged without SQL."""
        self.rules[is_whole] += 1

    def show(self, kinds: Iterable[str]) -> Callable[[], None]:
        """Show the numbers until what is given is called."""
        removers = [remove for kind in kinds for remove in (self._questions_of(kind), self._seconds_of(kind))]
        removers += [self._rules_of(True, "recognised"), self._rules_of(False, "sql")]

        def remove_all() -> None:
            for remove in removers:
                remove()

        return remove_all

    def _questions_of(self, kind: str) -> Callable[[], None]:
        help = "Questions of the realtime edges that were answered."
        return gauge(_QUESTIONS, help, lambda: self.questions.get(kind, 0), question=kind)

    def _seconds_of(self, kind: str) -> Callable[[], None]:
        help = "Time spent on the questions of the realtime edges."
        return gauge(_SECONDS, help, lambda: self.seconds.get(kind, 0.0), question=kind)

    def _rules_of(self, is_whole: bool, by: str) -> Callable[[], None]:
        help = "Rules of tables with row security, by who judges rows: look-ups, or SQL for some part."
        return gauge(_RULES, help, lambda: self.rules[is_whole], by=by)
