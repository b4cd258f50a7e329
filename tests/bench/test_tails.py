from tests.bench.load import Outcome
from tests.bench.tails import fairness_of, merged, overlapping, stalls_of


def test_stalls_are_long_times_between_answers_in_their_order() -> None:
    assert stalls_of([40, 0, 10, 12], 10) == [(0, 10), (12, 40)]


def test_spans_are_counted_once_where_they_meet_a_time() -> None:
    times = merged([(30, 40), (10, 20), (15, 25), (38, 50)])

    assert times == [(10, 25), (30, 50)]
    assert overlapping([(0, 9), (0, 10), (12, 13), (26, 29), (0, 60), (50, 51), (51, 52)], times) == 4


def test_a_connection_that_waits_longer_shows() -> None:
    fair = Outcome(latencies=[10, 12, 10, 14], connections=[1, 1, 2, 2])
    unfair = Outcome(latencies=[10, 10, 30, 30], connections=[1, 1, 2, 2])

    assert fairness_of(fair) < 1.1
    assert fairness_of(unfair) == 3
