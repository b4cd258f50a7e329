"""Texts of all kinds for the property tests: any text, and text that looks like the grammar but may not be of it."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from workers.rest.errors import RestError

P = ParamSpec("P")
T = TypeVar("T")

FEW = settings(max_examples=100, deadline=None)
"""No deadline: the machine of a test run is shared."""

_WORDS = [
    "select", "order", "limit", "offset", "and", "or", "not", "eq", "gt", "in", "is", "like", "fts", "null", "any", "all",
    "inner", "left", "desc", "asc", "nullsfirst", "count()", "sum()", "a", "b", "id", "name", "data", "items",
    "...", "::", ":", "->", "->>", "-1", "0", "12", "9" * 30, "9" * 5000, "*", "!", ".", ",", "(", ")", "{", "}",
    '"', "\\", '\\"', "%", "%00", "%22", "%FF", "+", "=", "&", ";", "-", "_", "$", "ü", "名", "\x00", "\t", " ",
    "eq.", "in.(", "or=(", "select=", "q=0.5", "application/json", "strict", "count=exact", "max-affected=",
]  # fmt: skip

grammar_like = st.lists(st.sampled_from(_WORDS), max_size=25).map("".join)
texts = st.text(max_size=60) | grammar_like
"""Any text, or a heap of the grammar's own words."""


def storable(most: int) -> st.SearchStrategy[str]:
    """Texts that Postgres can hold: without NUL, which no name may have."""
    return st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=most)


def outcome(parse: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | RestError:
    """Give what a parser gives or how it refuses; any other exception is a defect and passes."""
    try:
        return parse(*arguments, **named)
    except RestError as refusal:
        return refusal
