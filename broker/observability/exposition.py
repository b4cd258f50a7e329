"""Turn the figures of a process into the text form of Prometheus. Loaded when metrics are read for the first time.

Source: Prometheus, "Exposition formats", text format 0.0.4.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from broker.observability.figures import BUCKETS_S, AnswerTimes, ObservedFigures


def prometheus_text(figures: ObservedFigures) -> bytes:
    """Return the figures, and CPU, memory and files of this process, as text."""
    return prometheus_client.generate_latest(_registry(figures))


@cache
def _registry(figures: ObservedFigures) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(figures))
    prometheus_client.ProcessCollector(registry=registry)
    return registry


class _Collector(Collector):
    """Converts the numbers of this process into Prometheus families."""

    def __init__(self, figures: ObservedFigures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        """Build the families in the order in which they are shown."""
        figures = self._figures
        observations = {(name,): count for name, count in figures.others.items()}
        return [
            _counter(
                "headwater_requests", "Requests answered by a pool.", ("pool", "status"), figures.answered
            ),
            _histogram(
                "headwater_request_duration_seconds",
                "From the arrival of a request at its pool to the answer.",
                "pool",
                figures.durations,
            ),
            *_waiting(figures),
            _counter(
                "headwater_calls_failed", "Calls that got no answer.", ("pool", "reason"), figures.failed
            ),
            _counter("headwater_observations", "Everything else that was observed.", ("kind",), observations),
            *_gauges(figures),
        ]


def _waiting(figures: ObservedFigures) -> list[Metric]:
    """Return the families about requests that waited for a handler or a database connection, or got none."""
    return [
        _histogram(
            "headwater_queue_wait_seconds",
            "Waiting of requests that were not started at once.",
            "pool",
            figures.waits,
        ),
        _counter(
            "headwater_requests_refused",
            "Requests rejected before they were started.",
            ("pool", "reason"),
            figures.refused,
        ),
        _histogram(
            "headwater_database_wait_seconds",
            "Waiting of requests that got no database connection at once.",
            "login",
            figures.connection_waits,
        ),
        _counter(
            "headwater_database_refused",
            "Requests that got no database connection.",
            ("login", "reason"),
            figures.no_connection,
        ),
    ]


def _counter(name: str, help: str, labels: Sequence[str], counts: Mapping[Any, int]) -> Metric:
    family = CounterMetricFamily(name, help, labels=labels)
    for key, count in counts.items():
        family.add_metric([str(part) for part in key], count)
    return family


def _histogram(name: str, help: str, label: str, every: dict[str, AnswerTimes]) -> Metric:
    family = HistogramMetricFamily(name, help, labels=[label])
    for value, series in every.items():
        total, buckets = 0, []
        for end, count in zip((*map(str, BUCKETS_S), "+Inf"), series.counts, strict=True):
            total += count
            buckets.append((end, total))
        family.add_metric([value], buckets, series.sum)
    return family


def _gauges(figures: ObservedFigures) -> list[Metric]:
    families: dict[str, GaugeMetricFamily] = {}
    for (name, labels), (help, read) in figures.gauges.items():
        if name not in families:
            families[name] = GaugeMetricFamily(name, help, labels=[label for label, _ in labels])
        families[name].add_metric([value for _, value in labels], read())
    return list(families.values())
