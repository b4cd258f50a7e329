"""Texts of all kinds for the property tests: any text, and text that looks like the grammar but may not be of it."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.rest.errors.base import RestError

P = ParamSpec("P")
T = TypeVar("T")

FEW = settings(max_examples=250, deadline=None)
"""No deadline: the machine of a test run is shared."""

_WORDS = [
    "select", "order", "limit", "offset", "and", "or", "not", "eq", "gt", "in", "is", "like", "fts", "null", "any", "all",
    "inner", "left", "desc", "asc", "nullsfirst", "count()", "sum()", "a", "b", "id", "name", "data", "items",
    "...", "::", ":", "->", "->>", "-1", "0", "12", "9" * 30, "9" * 5000, "*", "!", ".", ",", "(", ")", "{", "}",
    '"', "\\", '\\"', "%", "%00", "%22", "%FF", "+", "=", "&", ";", "-", "_", "$", "ü", "名", "\x00", "\t", " ",
    "eq.", "in.(", "or=(", "select=", "q=0.5", "application/json", "strict", "count=exact", "max-affected=",
]  # fmt: skip

grammar_like = st.lists(st.sampled_from(_WORDS), max_size=25).map("".join)
VALID = [
    "eq.5", "not.in.(1,\"a,b\",c)", "fts(german).cat", "like(any).{a*,b*}", "is.not_null", "isdistinct.a", "(a.eq.1,not.or(b.is.null,c.in.(1,2)))",
    "a,b:c->d->>e::text,...f!inner(g,h(*)),sum:i.sum()::int", "select=*&a=eq.1&or=(b.gt.2,c.fts(en).x)&order=d.desc.nullslast&limit=5",
    "a.desc.nullsfirst,b(c).asc", "lt(col).d", "0-9", "items=5-", "application/vnd.pgrst.object+json;nulls=stripped, text/csv;q=0.5",
    "return=representation, count=exact;missing=default", '[{"a":1,"b":null},{"a":"x"}]',
]  # fmt: skip

texts = st.text(max_size=60) | grammar_like | near_text(VALID, _WORDS)
"""Any text, a heap of the grammar's own words, or what is valid somewhere with a part changed."""


def storable(most: int) -> st.SearchStrategy[str]:
    """Texts that Postgres can hold: without NUL, which no name may have."""
    return st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=most)


def outcome(parse: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | RestError:
    """Return what a parser gives or how it refuses; any other exception is a defect and passes."""
    try:
        return parse(*arguments, **named)
    except RestError as refusal:
        return refusal
