"""Formatting changes blanks outside of quotes and comments alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.management.spellings.schema_metadata.sql_format import format_sql

_PARTS = st.sampled_from(
    ["select", "from", "a", "b.c", '"x y"', "'it''s  '", "$$ a  b $$", "(", ")", ",", ";", "-- why\n", "/* a  b */", "and", "or",
     "join", "left", "between", "1.5", "::", "int", "group by", "order", "by", "::text[]", "\n", "  ", "=", "$tag$ $$ $tag$"]
)  # fmt: skip


@given(st.lists(_PARTS, max_size=40).map(" ".join) | st.text(max_size=60))
def test_every_sign_stays_in_its_order(text: str) -> None:
    formatted = format_sql(text)

    assert "".join(formatted.split()) == "".join(text.split())
    assert format_sql(formatted).split() == formatted.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a,b from t", "select\n  a,\n  b\nfrom\n  t\n"),
        ("select 1;select 2", "select\n  1;\n\nselect\n  2\n"),
        ("select f(a, b) from (select 1) x", "select\n  f(a, b)\nfrom\n  (\n    select\n      1\n  ) x\n"),
        ("select 'a  b', $$c  d$$ -- e  f", "select\n  'a  b',\n  $$c  d$$ -- e  f\n"),
    ],
)
def test_layout(text: str, expected: str) -> None:
    assert format_sql(text) == expected


def test_the_indent_of_nested_brackets_is_bounded() -> None:
    text = "(select a from b where " * 1000

    assert len(format_sql(text)) < 30 * len(text)
