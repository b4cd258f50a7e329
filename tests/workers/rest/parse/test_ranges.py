"""`limit`, `offset` and the `Range` header: reference page, section 11."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, outcome, texts
from workers.rest.errors.parse import RangeNotSatisfiable
from workers.rest.model import ALL_ROWS, RowRange
from workers.rest.parse.ranges import LARGEST, intersection, parse_limit, parse_offset, parse_range_header
from workers.sql.compose import ParameterSlot

ENDLESS = "9" * 10_000


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (None, ALL_ROWS),
        ("", ALL_ROWS),
        ("0-9", RowRange(0, 10)),
        ("5-", RowRange(5)),
        ("0-", RowRange(0)),
        ("3-3", RowRange(3, 1)),
        ("0-0", RowRange(0, 1)),
        ("bytes=0-9", ALL_ROWS),
        ("items=0-9", ALL_ROWS),
        ("-5", ALL_ROWS),
        ("0-9,20-29", ALL_ROWS),
        (" 0-9", ALL_ROWS),
        ("0-9 ", ALL_ROWS),
        ("a-b", ALL_ROWS),
        ("007-009", RowRange(7, 3)),
        (f"0-{ENDLESS}", RowRange(0, LARGEST)),
        (f"{ENDLESS}-", RowRange(LARGEST)),
    ],
)
def test_a_range_header_names_its_first_and_last_row(header: str | None, rows: RowRange) -> None:
    assert parse_range_header(header) == rows


@pytest.mark.parametrize("header", ["5-4", "1-0", "100-99"])
def test_a_range_that_ends_before_it_starts_is_refused(header: str) -> None:
    with pytest.raises(RangeNotSatisfiable) as caught:
        parse_range_header(header)

    assert (caught.value.code, caught.value.status) == ("PGRST103", 416)
    assert caught.value.message == "Requested range not satisfiable"
    assert (
        caught.value.details
        == "The lower boundary must be lower than or equal to the upper boundary in the Range header."
    )


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("10", 10), ("0", 0), ("-0", 0), ("-000", 0), ("007", 7), ("", None), ("ten", None), ("1.5", None), ("1e3", None),
        (" 1", None), ("+1", None), ("0x10", None), ("--1", None), (ENDLESS, LARGEST), ("0" * 500 + "7", 7),
    ],
)  # fmt: skip
def test_a_limit_is_an_integer_or_ignored(text: str, limit: int | None) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize("text", ["-1", "-10", f"-{ENDLESS}"])
def test_a_negative_limit_is_refused(text: str) -> None:
    with pytest.raises(RangeNotSatisfiable) as caught:
        parse_limit(text)

    assert caught.value.details == "Limit should be greater than or equal to zero."


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("10", 10), ("0", 0), ("-1", 0), ("", 0), ("ten", 0), ("1.5", 0), (ENDLESS, LARGEST), (f"-{ENDLESS}", 0),
    ],
)  # fmt: skip
def test_an_offset_is_a_whole_number_or_ignored(text: str, offset: int) -> None:
    assert parse_offset(text) == offset


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (ALL_ROWS, ALL_ROWS, ALL_ROWS),
        (RowRange(0, 10), ALL_ROWS, RowRange(0, 10)),
        (ALL_ROWS, RowRange(5), RowRange(5)),
        (RowRange(0, 10), RowRange(5, 10), RowRange(5, 5)),
        (RowRange(5, 10), RowRange(0, 10), RowRange(5, 5)),
        (RowRange(2, 3), RowRange(1, 9), RowRange(2, 3)),
        (RowRange(0, 5), RowRange(9, 5), RowRange(9, 0)),
        (RowRange(3), RowRange(7), RowRange(7)),
        (RowRange(3), RowRange(0, 5), RowRange(3, 2)),
        (RowRange(0, 0), RowRange(0, 10), RowRange(0, 0)),
    ],
)
def test_limit_and_header_are_intersected(one: RowRange, other: RowRange, both: RowRange) -> None:
    assert intersection(one, other) == both


def test_a_range_with_a_slot_meets_only_a_whole_one() -> None:
    slotted = RowRange(ParameterSlot(0), 5)

    assert intersection(slotted, ALL_ROWS) == slotted
    with pytest.raises(TypeError):
        intersection(slotted, RowRange(1))


_bounds = st.integers(0, 12)
_ranges = st.builds(RowRange, _bounds, st.none() | _bounds)


def _rows(rows: RowRange) -> set[int]:
    assert isinstance(rows.offset, int)
    assert not isinstance(rows.limit, ParameterSlot)
    end = 40 if rows.limit is None else rows.offset + rows.limit
    return set(range(rows.offset, end))


@FEW
@given(_ranges, _ranges)
def test_an_intersection_holds_the_rows_of_both(one: RowRange, other: RowRange) -> None:
    assert _rows(intersection(one, other)) == _rows(one) & _rows(other)


@FEW
@given(texts)
def test_any_text_is_a_range_or_refused(text: str) -> None:
    for value in (text, f"{text}-", f"0-{text}"):
        assert isinstance(outcome(parse_range_header, value), RowRange | RangeNotSatisfiable)
    outcome(parse_limit, text)
    assert 0 <= parse_offset(text) <= LARGEST
