"""Arrays of Postgres' text format, read as lists."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.management.spellings.schema_metadata.query_values import parse_array

_ITEMS = st.none() | st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))


def rendered(value: Any) -> str:
    """Return a list as Postgres prints an array, with every text in quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "{" + ",".join(map(rendered, value)) + "}"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.lists(_ITEMS) | st.lists(st.lists(_ITEMS, min_size=1, max_size=3), min_size=1, max_size=3))
def test_arrays_are_read_as_they_were_written(values: list[Any]) -> None:
    assert parse_array(rendered(values), str) == values


def test_words_without_quotes_and_bounds() -> None:
    assert parse_array("[2:3]={a b,NULL}", str) == ["a b", None]
    assert parse_array("{}", str) == []
    assert parse_array("{{1,2},{3,4}}", int) == [[1, 2], [3, 4]]
