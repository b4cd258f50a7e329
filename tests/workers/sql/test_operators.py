"""The table of filter operators: reference page "rest", section 7."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.sql.operators import IS_WORDS, OPERATORS, array_literal, like_pattern

COMPARE = ("eq", "neq", "gt", "gte", "lt", "lte")
PATTERNS = ("like", "ilike", "match", "imatch")
SEARCHES = ("fts", "plfts", "phfts", "wfts")
RANGES = ("cs", "cd", "ov", "sl", "sr", "nxr", "nxl", "adj")


def test_the_table_is_complete() -> None:
    assert set(OPERATORS) == {*COMPARE, *PATTERNS, *SEARCHES, *RANGES, "in", "is", "isdistinct"}
    assert all(name == each.name for name, each in OPERATORS.items())


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("eq", "="), ("neq", "<>"), ("gt", ">"), ("gte", ">="), ("lt", "<"), ("lte", "<="), ("like", "like"), ("ilike", "ilike"),
        ("match", "~"), ("imatch", "~*"), ("is", "is"), ("isdistinct", "is distinct from"), ("cs", "@>"), ("cd", "<@"),
        ("ov", "&&"), ("sl", "<<"), ("sr", ">>"), ("nxr", "&<"), ("nxl", "&>"), ("adj", "-|-"), ("in", "= any"),
        ("fts", "@@"), ("plfts", "@@"), ("phfts", "@@"), ("wfts", "@@"),
    ],
)  # fmt: skip
def test_operators_of_postgres(name: str, sql: str) -> None:
    assert OPERATORS[name].sql == sql


def test_properties_hold_for_the_operators_that_the_page_names() -> None:
    def having(name: str) -> set[str]:
        return {each.name for each in OPERATORS.values() if getattr(each, name)}

    assert having("quantifiable") == {*COMPARE, *PATTERNS} - {"neq"}
    assert having("takes_config") == having("function") == set(SEARCHES)
    assert having("is_pattern") == {"like", "ilike"}
    assert having("converts") == {*COMPARE, *RANGES, "in"}
    assert having("compares") == {*COMPARE, *PATTERNS, *RANGES, "isdistinct"}
    assert [OPERATORS[name].function for name in SEARCHES] == [
        "to_tsquery",
        "plainto_tsquery",
        "phraseto_tsquery",
        "websearch_to_tsquery",
    ]


def test_is_takes_five_words() -> None:
    assert IS_WORDS == {
        "null": "null",
        "not_null": "not null",
        "true": "true",
        "false": "false",
        "unknown": "unknown",
    }


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], "{}"),
        (["a"], '{"a"}'),
        (("a", "b,c"), '{"a","b,c"}'),
        (['"', "\\"], r'{"\"","\\"}'),
        (["{}", "null", ""], '{"{}","null",""}'),
    ],
)
def test_array_literals_quote_every_element(items: list[str], text: str) -> None:
    assert array_literal(items) == text


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=4))
def test_array_literals_read_back(items: list[str]) -> None:
    found, current, inside, escaped = [], "", False, False
    for sign in array_literal(items)[1:-1]:
        if escaped:
            current, escaped = current + sign, False
        elif inside and sign == "\\":
            escaped = True
        elif sign == '"':
            inside = not inside
            if not inside:
                found.append(current)
            current = ""
        elif inside:
            current += sign

    assert found == items


@pytest.mark.parametrize(
    ("text", "pattern"), [("*a*", b"%a%"), ("a_%", b"a_%"), ("", b""), ("ü*", "ü%".encode())]
)
def test_stars_are_wildcards(text: str, pattern: bytes) -> None:
    assert like_pattern(text) == pattern
