"""How much of a filter the feed of row changes can decide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.graphql.following.carried import carried
from workers.graphql.plan.inputs import Reader
from workers.graphql.plan.tree import All, Any, Compare, Condition, IsNull, Not, Operand
from workers.realtime.filters import parse_filter
from workers.sql.compose import ParameterSlot


def compare(column: str, operator: str, value: bytes | None, *, is_any: bool = False) -> Compare:
    return Compare(column, operator, Operand(value, "text"), is_any)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (None, ""),
        (compare("a", "=", b"x"), 'a=eq."x"'),
        (compare("a", "<>", b'"'), 'a=neq."\\""'),
        (compare("a", "=", b'{"1","2"}', is_any=True), 'a=in.("1","2")'),
        (IsNull("a", True), "a=is.null"),
        (IsNull("a", False), "a=not.is.null"),
        (All((compare("a", ">", b"1"), All((compare("b", "~~", b"x%"),)))), 'a=gt."1",b=like."x%"'),
    ],
)
def test_comparisons_that_hold_together_are_carried_whole(condition: Condition | None, text: str) -> None:
    assert carried(condition, [], {}) == (text, None)


def test_the_rest_is_left_and_variables_are_filled_in() -> None:
    either = Any((compare("a", "=", b"1"), compare("a", "=", b"2")))
    variable = Compare("b", "=", Operand(ParameterSlot(0), "text"))
    readers = [Reader(("v",), str)]
    left: list[Condition] = [
        either,
        Not(compare("a", "=", b"1")),
        compare("a", "^@", b"1"),
        compare("a,b", "=", b"1"),
        compare("a", "=", None),
    ]

    assert carried(All((variable, *left)), readers, {"v": "x"}) == ('b=eq."x"', All(tuple(left)))


@given(st.text(), st.lists(st.text(), max_size=5))
def test_what_is_carried_is_read_as_it_was_meant(value: str, values: list[str]) -> None:
    escaped = ",".join('"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in values)
    array = "{" + escaped + "}"
    condition = All((
        compare("a", "=", value.encode(errors="replace")),
        compare("b", "=", array.encode(errors="replace"), is_any=True),
    ))  # fmt: skip
    text, rest = carried(condition, [], {})
    first, second = parse_filter(text)

    assert rest is None
    assert (first.column, first.op, first.value) == ("a", "eq", value.encode(errors="replace").decode())
    assert (second.column, second.op, second.value) == ("b", "in", array.encode(errors="replace").decode())
