"""What a process has counted: plain numbers, which `observe` adds to and `exposition` shows."""

from collections.abc import Callable

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper ends of the histogram of answer times."""

Labels = tuple[tuple[str, str], ...]


class AnswerTimes:
    """Answer times of one pool: counts by bucket, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.sum = 0.0


class ObservedFigures:
    """The numbers of one process."""

    def __init__(self) -> None:
        self.answered: dict[tuple[str, int], int] = {}
        self.durations: dict[str, AnswerTimes] = {}
        self.waits: dict[str, AnswerTimes] = {}
        self.connection_waits: dict[str, AnswerTimes] = {}
        self.failed: dict[tuple[str, str], int] = {}
        self.refused: dict[tuple[str, str], int] = {}
        self.no_connection: dict[tuple[str, str], int] = {}
        self.others: dict[str, int] = {}
        self.gauges: dict[tuple[str, Labels], tuple[str, Callable[[], float]]] = {}
