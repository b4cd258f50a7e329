"""Runs of part sizes: the span of each part, and what a row may hold instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.storage.s3.part_sizes import PART_SIZES, part_count, part_sizes, part_span, stored_runs


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_the_spans_of_all_parts_cover_the_object_in_order(sizes: list[int]) -> None:
    metadata: dict[str, object] = {PART_SIZES: part_sizes(sizes)}

    runs = stored_runs(metadata, sum(sizes))

    spans = [part_span(runs, number) for number in range(1, len(sizes) + 1)]
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    assert spans == [(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    assert part_span(runs, len(sizes) + 1) is None
    assert part_count(runs) == len(sizes)


def test_parts_of_one_size_are_one_run() -> None:
    assert part_sizes([5] * 9_999 + [2]) == [[5, 9_999], [2, 1]]


@pytest.mark.parametrize(
    "value",
    [None, "text", [1, 2], [[1]], [[1, 2, 3]], [["1", 2]], [[-5, 1], [15, 1]], [[10, 0]], [[3, 3]], []],
)
def test_runs_that_do_not_fit_the_object_are_ignored(value: object) -> None:
    assert stored_runs({PART_SIZES: value}, 10) == []
    assert stored_runs(None, 10) == []
