"""The tables of a campaign as text (pure)."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from tests.faults.jobs import JobCounts
from tests.faults.reckoning import CALM, TIMED, Outcome
from tests.faults.writers import ROWS


def fault_table(outcomes: Sequence[Outcome]) -> str:
    """Return the table: one line a kind of fault, what was harmed by it and what clients saw."""
    head = ("fault", "n", "lost", "doubled", "refused, stored", "gaps", "announced gaps", "plain missed", "rows again p50 / max", "client saw")  # fmt: skip
    lines = []
    for name, group in _grouped(outcomes):
        answers = sum((each.answers for each in group), Counter[str]())
        counts = (
            sum(getattr(each, field) for each in group)
            for field in ("lost", "doubled", "stored_though_refused", "gaps", "announced", "plain_missed")
        )
        lines.append((name, str(len(group)), *map(str, counts), _spread(group, ROWS), _shown(answers)))
    return _aligned([head, *lines])


def pause_table(outcomes: Sequence[Outcome]) -> str:
    """Return the longest times without a success, p50 / max in seconds, by kind of fault and of operation."""
    lines = [(name, *(_spread(group, kind) for kind in TIMED)) for name, group in _grouped(outcomes)]
    return _aligned([("longest pause, s", *TIMED), *lines])


def job_table(counts: Sequence[JobCounts]) -> str:
    """Return what became of jobs."""
    lines = [
        (
            each.name,
            str(each.done),
            str(len(each.lost)),
            str(len(each.doubled)),
            str(len(each.refused)),
            each.remark,
        )
        for each in counts
    ]
    return _aligned([("jobs", "done", "lost", "doubled", "refused, done", ""), *lines])


def _grouped(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    names = sorted({each.name for each in outcomes}, key=lambda name: (name != CALM, name))
    return [(name, [each for each in outcomes if each.name == name]) for name in names]


def _spread(group: Sequence[Outcome], kind: str) -> str:
    pauses = [each.pauses[kind] for each in group]
    return f"{median(pauses):.1f} / {max(pauses):.1f}"


def _shown(answers: Counter[str]) -> str:
    return ", ".join(f"{answer} x{count}" for answer, count in sorted(answers.items()))


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
