"""Cursors of pages, and texts that Postgres can store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.management.interface.errors import ManagementError
from workers.management.interface.page_cursor import check_limit, check_text, cursor_of, read_cursor


@given(st.tuples(st.text(), st.integers(0, 2**53)))
def test_a_cursor_holds_its_values(values: tuple[str, int]) -> None:
    assert read_cursor(cursor_of(values), tuple[str, int]) == values


@given(st.text(max_size=50))
def test_any_other_text_is_refused_or_of_the_right_type(text: str) -> None:
    try:
        value = read_cursor(text, str)
    except ManagementError:
        return
    assert isinstance(value, str)


@pytest.mark.parametrize("text", ["a\0", "\ud800", "x" * 1025, ""])
def test_texts_that_postgres_cannot_store_are_refused(text: str) -> None:
    with pytest.raises(ManagementError):
        check_text("name", text)


@pytest.mark.parametrize("limit", [0, -1, 11])
def test_pages_have_bounds(limit: int) -> None:
    with pytest.raises(ManagementError):
        check_limit(limit, 10)
