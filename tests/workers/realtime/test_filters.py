"""The grammar of filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.realtime.filters import FilterRejected, ParsedCondition, inspected, parse_filter


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("", []),
        ("   ", []),
        ("id=eq.5", [ParsedCondition("id", "eq", "5")]),
        ("id=not.eq.5", [ParsedCondition("id", "eq", "5", True)]),
        ("id=gt.0,id=lt.100", [ParsedCondition("id", "gt", "0"), ParsedCondition("id", "lt", "100")]),
        (" id=gt.0 , id=lt.9 ", [ParsedCondition("id", "gt", "0"), ParsedCondition("id", "lt", "9")]),
        ("a=eq.x=y.z", [ParsedCondition("a", "eq", "x=y.z")]),
        ("a=eq.", [ParsedCondition("a", "eq", "")]),
        ("a=in.(x,y),b=eq.1", [ParsedCondition("a", "in", "{x,y}"), ParsedCondition("b", "eq", "1")]),
        ("a=in.()", [ParsedCondition("a", "in", "{}")]),
        ('a=in.("x,)","y\\"z")', [ParsedCondition("a", "in", '{"x,)","y\\"z"}')]),
        ('a=eq."x,y"', [ParsedCondition("a", "eq", "x,y")]),
        ('a=eq."x\\"y\\\\"', [ParsedCondition("a", "eq", 'x"y\\')]),
        ('a=eq."x"y', [ParsedCondition("a", "eq", '"x"y')]),
        ('a=eq."x', [ParsedCondition("a", "eq", '"x')]),
        ('a=eq.x"y,b=eq.z', [ParsedCondition("a", "eq", 'x"y'), ParsedCondition("b", "eq", "z")]),
        (
            "a=like.f(x,y),b=is.null",
            [ParsedCondition("a", "like", "f(x,y)"), ParsedCondition("b", "is", "null")],
        ),
        ("a=eq.x),b=eq.y", [ParsedCondition("a", "eq", "x)"), ParsedCondition("b", "eq", "y")]),
    ],
)
def test_a_filter_is_a_list_of_conditions(text: str, conditions: list[ParsedCondition]) -> None:
    assert parse_filter(text) == conditions


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("undefined", '["undefined"]'),
        ("subject=foo.hey", '["foo", "hey"]'),
        ("subject=hey", '["hey"]'),
        ("subject=not.hey", '["hey"]'),
        ('subject=f"o.x', '["f\\"o", "x"]'),
        ("id=in.1,2", "`in` filter value must be wrapped by parentheses"),
        ("id=eq.1,,id=eq.2", "filter must not contain empty segments (check for extra commas)"),
        ("id=eq.1,", "filter must not contain empty segments (check for extra commas)"),
    ],
)
def test_what_is_no_filter_is_refused_in_the_words_that_clients_know(text: str, reason: str) -> None:
    with pytest.raises(FilterRejected) as refused:
        parse_filter(text)

    assert str(refused.value) == reason


@given(st.text(alphabet='ab=.,()"\\n eqitno', max_size=40))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        found = parse_filter(text)
    except FilterRejected:
        return

    assert all(each.op for each in found)


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=20))
def test_a_quoted_value_is_read_as_it_is(value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    assert parse_filter(f"a=eq.{quoted},b=eq.1") == [
        ParsedCondition("a", "eq", value),
        ParsedCondition("b", "eq", "1"),
    ]


def test_values_are_shown_as_messages_show_them() -> None:
    assert inspected([("a", "eq", 'x"', False)]) == '[{"a", "eq", "x\\"", false}]'
    assert inspected(None) == "nil"
    assert inspected(["a", "b"]) == '["a", "b"]'
