"""What a campaign shows: acknowledged against stored, changes against received, and how long nothing succeeded (pure).

Every operation belongs to the fault that came last before it began, so what is lost or missing is counted with that fault.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.faults.followers import CHANGES, FollowerCounts
from tests.faults.ledger import Ledger, Meaning, Operation
from tests.faults.uploaders import OBJECTS
from tests.faults.writers import FUNCTIONS, MAIL, QUEUE, READS, ROWS

TIMED = (ROWS, READS, OBJECTS, FUNCTIONS, QUEUE, MAIL, CHANGES)
"""Kinds of operations whose pauses are measured."""
CALM = "(nothing)"
"""Stands for the time before the first fault."""


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """A fault that was carried out: what the plan calls it, when it began and when the harm was over."""

    name: str
    began: float
    ended: float
    remark: str = ""


@dataclass(slots=True)
class Outcome:
    """What happened from one fault to the next."""

    name: str
    lost: int = 0
    doubled: int = 0
    stored_though_refused: int = 0
    gaps: int = 0
    """Changes that a follower who resumes did not receive, received twice or out of order, without a word."""
    announced: int = 0
    """Changes it did not receive, in a gap that the platform announced."""
    plain_missed: int = 0
    pauses: dict[str, float] = field(default_factory=dict)
    """The longest time without a success that touches this window, by kind, in its whole length."""
    unhealed: list[str] = field(default_factory=list)
    """Kinds of which nothing succeeded between the end of the harm and the next fault."""
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def broken(self) -> int:
        """Count broken promises."""
        return self.lost + self.doubled + self.stored_though_refused + self.gaps


@dataclass(frozen=True, slots=True)
class StoredData:
    """What is there in the end: rows by how often they are stored, objects that are whole."""

    rows: Counter[int]
    objects: set[int]


def outcomes(
    ledger: Ledger,
    faults: Sequence[FaultRecord],
    ended: float,
    stored: StoredData,
    followers: Iterable[FollowerCounts],
    plain: Iterable[FollowerCounts],
) -> list[Outcome]:
    """Return what happened with each fault, and before the first one."""
    first = min(operation.began for operation in ledger.operations)
    windows = [FaultRecord(CALM, first, first), *faults]
    begins = [window.began for window in windows]
    result = [Outcome(window.name) for window in windows]
    of_row: dict[int, Outcome] = {}
    for operation in ledger.operations:
        outcome = result[max(0, bisect_right(begins, operation.began) - 1)]
        _count(operation, outcome, stored)
        if operation.kind == ROWS:
            of_row[operation.id] = outcome
    for received in followers:
        for id in (*received.missing, *received.doubled, *received.disordered, *received.invented):
            of_row.get(id, result[0]).gaps += 1
        for id in received.announced:
            of_row.get(id, result[0]).announced += 1
    for received in plain:
        for id in (*received.missing, *received.announced):
            of_row.get(id, result[0]).plain_missed += 1
    successes = {kind: _successes(ledger, kind) for kind in TIMED}
    for window, outcome, until in zip(windows, result, [*begins[1:], ended], strict=True):
        for kind, times in successes.items():
            is_healed = any(window.ended < time <= until for time in times)
            outcome.pauses[kind] = longest_pause(times, window.began, until, ended, is_healed=is_healed)
            if not is_healed:
                outcome.unhealed.append(kind)
    return result


def longest_pause(
    successes: Sequence[float], began: float, until: float, ended: float, *, is_healed: bool
) -> float:
    """Return the longest time without a success that belongs to the time between two moments, in its whole length.

    A pause that goes on when the next fault begins is not cut there; after one that has healed, it is that of the next fault.
    `ended` is the end of the campaign.
    """
    before = [time for time in successes if time <= began]
    moments = [before[-1] if before else began, *(time for time in successes if time > began), ended]
    pauses = [(earlier, later) for earlier, later in pairwise(moments) if earlier < until]
    if is_healed and len(pauses) > 1 and pauses[-1][1] > until:
        pauses.pop()
    return max(later - earlier for earlier, later in pauses)


def _count(operation: Operation, outcome: Outcome, stored: StoredData) -> None:
    if operation.kind == CHANGES:
        return
    outcome.answers[operation.answer] += 1
    if operation.kind == ROWS:
        times = stored.rows[operation.id]
    elif operation.kind == OBJECTS:
        times = int(operation.id in stored.objects)
    else:
        return
    outcome.doubled += times > 1
    outcome.lost += operation.meaning is Meaning.ACKNOWLEDGED and times == 0
    outcome.stored_though_refused += operation.meaning is Meaning.REFUSED and times > 0


def _successes(ledger: Ledger, kind: str) -> list[float]:
    return sorted(each.ended for each in ledger.of(kind) if each.meaning is Meaning.ACKNOWLEDGED)
