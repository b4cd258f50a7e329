"""Figures of requests as differences of counters, and their percentiles; samples of the metrics' text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.observability.metrics import MetricsReport, merged
from workers.management.interface.backends.metrics_text import read_metrics
from workers.management.interface.backends.request_history import (
    LEAST_S,
    PoolCounters,
    RequestHistory,
    quantile,
    sample_of,
)

_BOUNDS = (0.1, 1.0, math.inf)


def _counters(fast: int, slow: int, errors: int = 0) -> PoolCounters:
    return PoolCounters(fast + slow, errors, _BOUNDS, (fast, fast + slow, fast + slow))


def test_figures_are_differences_and_a_restarted_process_counts_whole() -> None:
    history = RequestHistory()
    history.add(100.0, {("a:1", "rest"): _counters(50, 0), ("b:1", "rest"): _counters(10, 10, 2)})

    now = {("a:1", "rest"): _counters(5, 0), ("b:1", "rest"): _counters(12, 14, 3)}
    figures, counted_s = history.since(160.0, now, 300.0)

    assert counted_s == 60.0
    assert (figures["rest"].answered, figures["rest"].errors) == (5 + 6, 1)


def test_the_oldest_sample_of_the_span_is_taken() -> None:
    history = RequestHistory()
    for at, count in ((0.0, 0), (100.0, 10), (200.0, 30)):
        history.add(at, {("a:1", "rest"): _counters(count, 0)})

    now = {("a:1", "rest"): _counters(100, 0)}
    assert history.since(250.0, now, 200.0)[0]["rest"].answered == 90
    assert history.since(250.0, now, 60.0)[0]["rest"].answered == 70
    assert history.since(250.0, now, 10.0) == ({"rest": (100, 0, 50.0, 99.0)}, None)


def test_samples_in_quick_succession_do_not_push_out_older_ones() -> None:
    history = RequestHistory()
    history.add(0.0, {})
    history.add(1.0, {}, least_s=30.0)

    assert history.since(50.0, {}, 100.0)[1] == 50.0


def test_a_series_has_the_figures_between_neighbouring_samples() -> None:
    history = RequestHistory()
    for at, counts in ((0.0, (5, 0, 0)), (60.0, (15, 0, 2)), (120.0, (15, 10, 2))):
        history.add(at, {("a:1", "rest"): _counters(*counts), ("a:1", "auth"): _counters(int(at), 0)})
    now = {("a:1", "rest"): _counters(20, 10, 3), ("a:1", "auth"): _counters(150, 0)}

    every = history.series(150.0, now, 3600.0)
    rest = history.series(150.0, now, 3600.0, "rest")

    assert [(point.ended, point.seconds) for point in every] == [(60.0, 60.0), (120.0, 60.0), (150.0, 30.0)]
    assert [point.figures.answered for point in every] == [70, 70, 35]
    assert [(point.figures.answered, point.figures.errors) for point in rest] == [(10, 2), (10, 0), (5, 1)]
    assert [point.figures.p50_ms for point in rest] == [50.0, 550.0, 50.0]
    assert [point.ended for point in history.series(150.0, now, 100.0, "rest")] == [120.0, 150.0]
    assert [point.figures for point in history.series(150.0, now, 100.0, "none")] == [(0, 0, None, None)] * 2
    assert history.series(150.0, now, 10.0) == []
    assert RequestHistory().series(150.0, now, 3600.0) == []


def test_a_process_that_missed_a_sample_does_not_count_whole() -> None:
    history = RequestHistory()
    history.add(0.0, {("a:1", "rest"): _counters(1000, 0)})
    history.add(60.0, {})
    history.add(120.0, {("a:1", "rest"): _counters(1010, 0), ("b:1", "rest"): _counters(7, 0)})

    points = history.series(130.0, {("a:1", "rest"): _counters(3, 0)}, 3600.0)

    assert [point.figures.answered for point in points] == [0, 10 + 7, 3]


def test_an_hour_of_samples_is_kept_however_often_they_are_taken() -> None:
    history = RequestHistory()
    for second in range(0, 7200, 10):
        history.add(float(second), {}, least_s=LEAST_S)

    points = history.series(7200.0, {}, 3600.0)

    assert sum(point.seconds for point in points) >= 3550
    assert len(points) <= 73


@pytest.mark.parametrize(
    ("buckets", "share", "expected"),
    [
        ({0.1: 10, 1.0: 10, math.inf: 10}, 0.5, 50.0),
        ({0.1: 0, 1.0: 10, math.inf: 10}, 0.5, 550.0),
        ({0.1: 0, 1.0: 0, math.inf: 10}, 0.99, 1000.0),
        ({0.1: 0, 1.0: 0, math.inf: 0}, 0.5, None),
        ({}, 0.5, None),
    ],
)
def test_percentiles_are_interpolated_inside_their_bucket(
    buckets: dict[float, float], share: float, expected: float | None
) -> None:
    assert quantile(buckets, share) == expected


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_higher_percentile_is_never_lower(counts: list[int], one: float, other: float) -> None:
    sums = [sum(counts[: place + 1]) for place in range(3)]
    buckets = dict(zip(_BOUNDS, map(float, sums), strict=True))

    low, high = (quantile(buckets, share) for share in sorted((one, other)))

    assert (low is None) == (high is None) == (sums[-1] == 0)
    assert low is None or high is None or low <= high


def test_samples_of_several_processes_are_read_with_their_labels() -> None:
    text = (
        b"# HELP headwater_requests_total x\n# TYPE headwater_requests_total counter\n"
        b'headwater_requests_total{pool="rest",status="200"} 5.0\nheadwater_requests_total{pool="rest",status="503"} 2.0\n'
        b'headwater_function_calls{function="a\\"b"} 1.0\nprocess_open_fds 7.0\n'
    )
    both = merged([MetricsReport("workers", f"host:{number}", text) for number in (1, 2)])

    metrics = read_metrics(both, ("headwater_requests_total", "headwater_function_calls"))

    assert metrics.total("headwater_requests_total") == 14
    assert metrics.total("headwater_function_calls", function='a"b', member="host:1") == 1
    assert metrics.greatest("process_open_fds") is None
    sample = sample_of(metrics)
    assert {key: (counters.answered, counters.errors) for key, counters in sample.items()} == {
        ("host:1", "rest"): (7, 2),
        ("host:2", "rest"): (7, 2),
    }
