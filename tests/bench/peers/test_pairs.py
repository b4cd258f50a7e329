"""Ratios of paired runs."""

import pytest

from tests.bench.peers.pairs import PairedRuns, Sample, counted, in_turns


def test_ratios_are_medians_over_the_pairs() -> None:
    ours = [Sample(100, 1.0, 1.0), Sample(50, 1.0, 2.0), Sample(300, 1.0, 1.0)]
    theirs = [Sample(50, 1.0, 4.0), Sample(50, 1.0, 3.0), Sample(100, 1.0, 2.0)]

    pair = PairedRuns("PocketBase", "by key", ours, theirs)

    assert pair.rate_ratio == 2.0
    assert pair.cpu_ratios == [1.5, 2.0, 4.0]
    assert pair.cpu_ratio == 2.0


def test_sides_run_in_turns_after_a_run_that_does_not_count() -> None:
    order: list[str] = []

    def side(name: str, count: int) -> Sample:
        order.append(name)
        return Sample(count * (1000 if len(order) <= 2 else 1), 2.0, 1.0)

    pair = in_turns("peer", "work", lambda _: side("ours", 4), lambda _: side("theirs", 2), 1.0, 2)

    assert order == ["ours", "theirs"] * 3
    assert [one.per_second for one in pair.ours] == [2.0, 2.0]
    assert pair.rate_ratio == 2.0


def test_rows_that_were_acknowledged_and_are_not_stored_are_errors() -> None:
    stored = iter([5, 14, 14, 24])
    side = counted(lambda _: Sample(10, 1.0, 1.0), lambda: next(stored))

    assert [side(1.0).errors, side(1.0).errors] == [1, 0]


@pytest.mark.parametrize("sample", [Sample(10, 1.0, 1.0, errors=1), Sample(0, 1.0, 1.0)])
def test_an_error_or_no_answer_ends_the_run(sample: Sample) -> None:
    with pytest.raises(SystemExit, match="by key, peer"):
        in_turns("peer", "by key", lambda _: Sample(1, 1.0, 1.0), lambda _: sample, 1.0, 1)
