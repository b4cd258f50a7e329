"""How many requests the pools answered lately, and how fast: samples of counters, and their differences. Pure.

Processes count from their start. So the figures of a time span are the differences of two samples, process by process: a counter
that is lower than before belongs to a process that was started again, and counts whole. Percentiles are interpolated inside of the
bucket of the histogram in which they fall, as Prometheus' `histogram_quantile` does.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workers.management.interface.backends.metrics_text import MetricSamples

REQUESTS, DURATIONS = "headwater_requests_total", "headwater_request_duration_seconds_bucket"
LEAST_S = 50.0
"""Least seconds between two samples, so that `_MOST_SAMPLES` of them last an hour, however many callers take samples."""
_MOST_SAMPLES = 75


class PoolCounters(NamedTuple):
    """Counters of one pool in one process. `buckets`: answers up to each bound in seconds, cumulative; the last bound is infinite."""

    answered: float
    errors: float
    bounds: tuple[float, ...]
    buckets: tuple[float, ...]


class PoolFigures(NamedTuple):
    """What a pool did in a time span. `errors`: answers of 500 and more; percentiles in milliseconds, None without an answer."""

    answered: int
    errors: int
    p50_ms: float | None
    p99_ms: float | None


class IntervalFigures(NamedTuple):
    """What was answered between two samples. `ended`: time of the later one, by the clock of the samples; `seconds` between them."""

    ended: float
    seconds: float
    figures: PoolFigures


Sample = Mapping[tuple[str, str], PoolCounters]
"""Counters by process and pool."""


@dataclass(slots=True)
class RequestHistory:
    """Samples of the last hour, one a minute at least."""

    _samples: deque[tuple[float, Sample]] = field(default_factory=lambda: deque(maxlen=_MOST_SAMPLES))

    def add(self, at: float, sample: Sample, *, least_s: float = 0.0) -> None:
        """Add a sample, unless the last one is younger than `least_s`."""
        if not self._samples or at - self._samples[-1][0] >= least_s:
            self._samples.append((at, sample))

    def since(self, now: float, sample: Sample, span_s: float) -> tuple[dict[str, PoolFigures], float | None]:
        """Return the figures by pool between the oldest sample of the span and this one, and the seconds between them.

        Without an older sample the figures count since the processes started, and the seconds are None.
        """
        for at, before in self._samples:
            if 0 < now - at <= span_s:
                return _figures(before, sample), now - at
        return _figures({}, sample), None

    def series(self, now: float, sample: Sample, span_s: float, pool: str = "") -> list[IntervalFigures]:
        """Return the figures between each two neighbouring samples of a span, this one as the last; of one pool, or of all.

        A process that did not answer in time is missing in a sample: its counters stay those of the sample before, and what it did meanwhile
        counts when it answers again.
        """
        samples = [(at, before) for at, before in self._samples if 0 < now - at <= span_s]
        if not samples:
            return []
        intervals, (began, first) = [], samples[0]
        present = dict(first)
        for at, after in [*samples[1:], (now, sample)]:
            latest = present | dict(after)
            intervals.append(IntervalFigures(at, at - began, _total(present, latest, pool)))
            began, present = at, latest
        return intervals


def sample_of(metrics: MetricSamples) -> dict[tuple[str, str], PoolCounters]:
    """Return the counters of all pools and processes."""
    answered: dict[tuple[str, str], float] = {}
    errors: dict[tuple[str, str], float] = {}
    buckets: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for labels, value in metrics.of(REQUESTS):
        key = labels.get("member", ""), labels.get("pool", "")
        answered[key] = answered.get(key, 0) + value
        errors[key] = errors.get(key, 0) + (value if labels.get("status", "").startswith("5") else 0)
    for labels, value in metrics.of(DURATIONS):
        key = labels.get("member", ""), labels.get("pool", "")
        bound = math.inf if labels.get("le") == "+Inf" else float(labels.get("le", "inf"))
        buckets.setdefault(key, []).append((bound, value))
    sample = {}
    for key, count in answered.items():
        pairs = sorted(buckets.get(key, []))
        bounds, counts = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        sample[key] = PoolCounters(count, errors[key], bounds, counts)
    return sample


def _total(before: Sample, after: Sample, pool: str) -> PoolFigures:
    """Return the figures of one pool, or with an empty name of all pools together."""
    counters = [(key, value) for key, value in after.items() if not pool or key[1] == pool]
    return _figures_of([_difference(before.get(key), value) for key, value in counters])


def _figures(before: Sample, after: Sample) -> dict[str, PoolFigures]:
    """Return the figures of each pool, of all its processes together."""
    differences: dict[str, list[PoolCounters]] = {}
    for (process, pool), counters in after.items():
        differences.setdefault(pool, []).append(_difference(before.get((process, pool)), counters))
    return {pool: _figures_of(of_pool) for pool, of_pool in sorted(differences.items())}


def _figures_of(differences: Sequence[PoolCounters]) -> PoolFigures:
    """Return the figures of several processes together."""
    buckets: dict[float, float] = {}
    for difference in differences:
        for bound, count in zip(difference.bounds, difference.buckets, strict=True):
            buckets[bound] = buckets.get(bound, 0.0) + count
    answered = sum(difference.answered for difference in differences)
    errors = sum(difference.errors for difference in differences)
    return PoolFigures(round(answered), round(errors), quantile(buckets, 0.5), quantile(buckets, 0.99))


def _difference(before: PoolCounters | None, after: PoolCounters) -> PoolCounters:
    if before is None or before.answered > after.answered or before.bounds != after.bounds:
        return after
    buckets = tuple(new - old for old, new in zip(before.buckets, after.buckets, strict=True))
    return PoolCounters(after.answered - before.answered, after.errors - before.errors, after.bounds, buckets)


def quantile(buckets: Mapping[float, float], share: float) -> float | None:
    """Return a percentile in milliseconds of a cumulative histogram, by bound in seconds. `share`: 0.99 is the 99th.

    A percentile in the infinite bucket is given as that bucket's lower bound.
    """
    ordered = sorted(buckets.items())
    total = ordered[-1][1] if ordered else 0.0
    if total <= 0:
        return None
    rank, lower, below = share * total, 0.0, 0.0
    for bound, count in ordered:
        if count >= rank and count > below:
            inside = 1.0 if math.isinf(bound) else (rank - below) / (count - below)
            upper = lower if math.isinf(bound) else bound
            return round((lower + (upper - lower) * inside) * 1000, 3)
        lower, below = bound, count
    return round(lower * 1000, 3)
