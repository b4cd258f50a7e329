"""The part of a filter that the feed of row changes evaluates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.graphql.plan.conditions import (
    ColumnComparison,
    Condition,
    Conjunction,
    Disjunction,
    Negation,
    NullTest,
    Operand,
)
from workers.graphql.plan.inputs import SlotReader
from workers.graphql.subscriptions.feed_filter import split_for_feed
from workers.realtime.filters import parse_filter
from workers.sql.compose import ParameterSlot


def compare(column: str, operator: str, value: bytes | None, *, is_any: bool = False) -> ColumnComparison:
    return ColumnComparison(column, operator, Operand(value, "text"), is_any)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (None, ""),
        (compare("a", "=", b"x"), 'a=eq."x"'),
        (compare("a", "<>", b'"'), 'a=neq."\\""'),
        (compare("a", "=", b'{"1","2"}', is_any=True), 'a=in.("1","2")'),
        (NullTest("a", True), "a=is.null"),
        (NullTest("a", False), "a=not.is.null"),
        (
            Conjunction((compare("a", ">", b"1"), Conjunction((compare("b", "~~", b"x%"),)))),
            'a=gt."1",b=like."x%"',
        ),
    ],
)
def test_comparisons_that_hold_together_are_carried_whole(condition: Condition | None, text: str) -> None:
    assert split_for_feed(condition, [], {}) == (text, None)


def test_the_rest_is_left_and_variables_are_filled_in() -> None:
    either = Disjunction((compare("a", "=", b"1"), compare("a", "=", b"2")))
    variable = ColumnComparison("b", "=", Operand(ParameterSlot(0), "text"))
    readers = [SlotReader(("v",), str)]
    left: list[Condition] = [
        either,
        Negation(compare("a", "=", b"1")),
        compare("a", "^@", b"1"),
        compare("a,b", "=", b"1"),
        compare("a", "=", None),
    ]

    assert split_for_feed(Conjunction((variable, *left)), readers, {"v": "x"}) == (
        'b=eq."x"',
        Conjunction(tuple(left)),
    )


@given(st.text(), st.lists(st.text(), max_size=5))
def test_what_is_carried_is_read_as_it_was_meant(value: str, values: list[str]) -> None:
    escaped = ",".join('"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in values)
    array = "{" + escaped + "}"
    condition = Conjunction((
        compare("a", "=", value.encode(errors="replace")),
        compare("b", "=", array.encode(errors="replace"), is_any=True),
    ))  # fmt: skip
    text, rest = split_for_feed(condition, [], {})
    first, second = parse_filter(text)

    assert rest is None
    assert (first.column, first.op, first.value) == ("a", "eq", value.encode(errors="replace").decode())
    assert (second.column, second.op, second.value) == ("b", "in", array.encode(errors="replace").decode())
