"""The grammar of filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.realtime.filters import Condition, FilterRefused, inspected, parse_filter


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("", []),
        ("   ", []),
        ("id=eq.5", [Condition("id", "eq", "5")]),
        ("id=not.eq.5", [Condition("id", "eq", "5", True)]),
        ("id=gt.0,id=lt.100", [Condition("id", "gt", "0"), Condition("id", "lt", "100")]),
        (" id=gt.0 , id=lt.9 ", [Condition("id", "gt", "0"), Condition("id", "lt", "9")]),
        ("a=eq.x=y.z", [Condition("a", "eq", "x=y.z")]),
        ("a=eq.", [Condition("a", "eq", "")]),
        ("a=in.(x,y),b=eq.1", [Condition("a", "in", "{x,y}"), Condition("b", "eq", "1")]),
        ("a=in.()", [Condition("a", "in", "{}")]),
        ('a=in.("x,)","y\\"z")', [Condition("a", "in", '{"x,)","y\\"z"}')]),
        ('a=eq."x,y"', [Condition("a", "eq", "x,y")]),
        ('a=eq."x\\"y\\\\"', [Condition("a", "eq", 'x"y\\')]),
        ('a=eq."x"y', [Condition("a", "eq", '"x"y')]),
        ('a=eq."x', [Condition("a", "eq", '"x')]),
        ('a=eq.x"y,b=eq.z', [Condition("a", "eq", 'x"y'), Condition("b", "eq", "z")]),
        ("a=like.f(x,y),b=is.null", [Condition("a", "like", "f(x,y)"), Condition("b", "is", "null")]),
        ("a=eq.x),b=eq.y", [Condition("a", "eq", "x)"), Condition("b", "eq", "y")]),
    ],
)
def test_a_filter_is_a_list_of_conditions(text: str, conditions: list[Condition]) -> None:
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
    with pytest.raises(FilterRefused) as refused:
        parse_filter(text)

    assert str(refused.value) == reason


@given(st.text(alphabet='ab=.,()"\\n eqitno', max_size=40))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        found = parse_filter(text)
    except FilterRefused:
        return

    assert all(each.op for each in found)


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=20))
def test_a_quoted_value_is_read_as_it_is(value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    assert parse_filter(f"a=eq.{quoted},b=eq.1") == [Condition("a", "eq", value), Condition("b", "eq", "1")]


def test_values_are_shown_as_messages_show_them() -> None:
    assert inspected([("a", "eq", 'x"', False)]) == '[{"a", "eq", "x\\"", false}]'
    assert inspected(None) == "nil"
    assert inspected(["a", "b"]) == '["a", "b"]'
