"""One piece of work on two sides, in turns: samples, ratios and the lines that are printed."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench import cpu
from tests.bench.table import Figures, number


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a side: requests that went well, the seconds they took, CPU of all its processes per request, errors."""

    count: int
    seconds: float
    cpu_ms: float
    errors: int = 0

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


@dataclass(frozen=True, slots=True)
class PairedRuns:
    """The runs of both sides, the first of one beside the first of the other."""

    peer: str
    work: str
    ours: Sequence[Sample]
    theirs: Sequence[Sample]

    @property
    def rate_ratio(self) -> float:
        """How many times as many requests a second are ours: the median over the pairs."""
        return statistics.median(
            ours.per_second / theirs.per_second for ours, theirs in zip(self.ours, self.theirs, strict=True)
        )

    @property
    def cpu_ratios(self) -> list[float]:
        """How many times as much CPU a request takes there, pair by pair in rising order."""
        return sorted(
            theirs.cpu_ms / ours.cpu_ms for ours, theirs in zip(self.ours, self.theirs, strict=True)
        )

    @property
    def cpu_ratio(self) -> float:
        """How many times as much CPU a request takes there: the median over the pairs."""
        return statistics.median(self.cpu_ratios)


Side = Callable[[float], Sample]
"""Does the work for so many seconds."""


def in_turns(peer: str, work: str, ours: Side, theirs: Side, seconds: float, repeat: int) -> PairedRuns:
    """Run both sides once to warm up (a compiler at run time needs it), then in turns. Raises: SystemExit where a request went wrong."""
    sides = {"Headwater": ours, peer: theirs}
    samples: dict[str, list[Sample]] = {name: [] for name in sides}
    for turn in range(repeat + 1):
        for name, side in sides.items():
            sample = side(seconds if turn else max(2.0, seconds))
            if sample.errors or not sample.count:
                raise SystemExit(f"{work}, {name}: {sample.errors} errors, {sample.count} answers")
            if turn:
                samples[name].append(sample)
    return PairedRuns(peer, work, samples["Headwater"], samples[peer])


def counted(side: Side, count: Callable[[], int]) -> Side:
    """Return a side that adds rows that were acknowledged and not stored to its errors; `count` counts those that are stored."""

    def counting(seconds: float) -> Sample:
        before = count()
        sample = side(seconds)
        missing = abs(count() - before - sample.count)
        return Sample(sample.count, sample.seconds, sample.cpu_ms, sample.errors + missing)

    return counting


def used_by(roots: list[int], work: Callable[[], object]) -> float:
    """Return the CPU seconds that all processes below the roots use while some work is done."""
    pids = cpu.groups_of(roots)
    before = cpu.spent(pids)
    work()
    pids |= cpu.groups_of(roots)
    return sum(cpu.difference(before, cpu.spent(pids), pids).values())


HEADING = f"{'peer':14}{'work':22}{'ours /s':>9}{'theirs /s':>10}{'ratio':>7}{'ours ms':>9}{'theirs ms':>10}{'CPU ratio':>10}  (lowest to highest)"


def show(pair: PairedRuns, figures: Figures) -> None:
    """Print a line and add its figures."""
    median = statistics.median
    values = {
        "ours": (median(one.per_second for one in pair.ours), "/s"),
        "theirs": (median(one.per_second for one in pair.theirs), "/s"),
        "rate ratio": (pair.rate_ratio, "x"),
        "our CPU": (median(one.cpu_ms for one in pair.ours), "ms"),
        "their CPU": (median(one.cpu_ms for one in pair.theirs), "ms"),
        "CPU ratio": (pair.cpu_ratio, "x"),
    }
    for name, (value, unit) in values.items():
        figures.add(f"{pair.peer}, {pair.work}: {name}", value, unit)
    texts = [number(value) for value, _ in values.values()]
    ratios = pair.cpu_ratios
    print(
        f"{pair.peer:14}{pair.work:22}{texts[0]:>9}{texts[1]:>10}{texts[2]:>7}{texts[3]:>9}{texts[4]:>10}{texts[5]:>10}"
        f"  ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )
