"""Bounds of results, and the markers around data."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.management.spellings.mcp.results import as_data, bounded_json, bounded_text

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=50)
    | st.text(min_size=2500, max_size=2600),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES, st.integers(16, 20_000))
def test_no_result_is_longer_than_its_bound(value: object, most: int) -> None:
    text, notes = bounded_json(value, most)

    assert len(text.encode()) <= most
    if not notes:
        assert json.loads(text) == value


def test_the_longest_list_loses_its_end() -> None:
    text, [note] = bounded_json({"a": [1], "rows": ["x" * 100] * 100}, 2_000)
    whole = json.loads(text)

    assert whole["a"] == [1]
    assert 10 < len(whole["rows"]) < 20
    assert f"only the first {len(whole['rows'])} of 100 members of `rows`" in note


def test_long_texts_are_shortened_before_rows_are_left_out() -> None:
    text, notes = bounded_json([{"note": "y" * 5_000}] * 10, 30_000)

    assert len(json.loads(text)) == 10
    assert notes == ["Texts of more than 2000 characters were shortened."]


@pytest.mark.parametrize(("text", "most", "expected"), [("abc", 3, "abc"), ("abc", 2, "ab"), ("aü", 2, "a")])
def test_a_text_is_cut_between_characters(text: str, most: int, expected: str) -> None:
    assert bounded_text(text, most) == (expected, expected != text)


@given(st.text(max_size=200))
def test_markers_are_there_once_whatever_the_data_is(text: str) -> None:
    marked = as_data(json.dumps(text))
    [opening] = [line for line in marked.split("\n") if line.startswith("<untrusted-data-")]

    assert marked.split("\n").count(opening.replace("<", "</")) == 1
    assert json.dumps(text) in marked
