"""Conditions decided without SQL: as Postgres would, or not at all."""

from decimal import Decimal

import pytest

from schemas.realtime import FilterCondition
from schemas.row_filters import passes, required_values, value_key

UUID = "00000000-0000-4000-8000-00000000000a"


def condition(op: str, *values: str, local: str = "number", negated: bool = False) -> FilterCondition:
    return FilterCondition("c", op, list(values), negated, "t", local)  # type: ignore[arg-type]  # texts of a table


@pytest.mark.parametrize(
    ("filter", "value", "expected"),
    [
        (condition("eq", "5"), b"5", True),
        (condition("eq", "5"), b"5.0", True),
        (condition("eq", "9007199254740993"), b"9007199254740992", False),
        (condition("neq", "5"), b"6", True),
        (condition("neq", "5"), b"null", False),
        (condition("eq", "5", negated=True), b"6", True),
        (condition("eq", "5", negated=True), b"null", False),
        (condition("lt", "1.5"), b"1.49", True),
        (condition("gte", "-3"), b"-3.0", True),
        (condition("in", "1", "2"), b"2", True),
        (condition("in", "1", "2"), b"3", False),
        (condition("eq", "NaN"), b"1", None),
        (condition("gt", "1"), b'"NaN"', None),
        (condition("isdistinct", "1"), b"null", True),
        (condition("isdistinct", "1", negated=True), b"1", True),
        (condition("is", "null", local="null"), b"null", True),
        (condition("is", "null", local="null", negated=True), b"1", True),
        (condition("is", "true", local="null"), b"true", True),
        (condition("is", "false", local="null"), b"null", False),
        (condition("is", "unknown", local="null"), b"null", True),
        (condition("eq", "true", local="bool"), b"true", True),
        (condition("eq", "yes", local="bool"), b"true", None),
        (condition("eq", UUID.upper(), local="uuid"), b'"%b"' % UUID.encode(), True),
        (condition("lt", UUID, local="uuid"), b'"00000000-0000-4000-8000-000000000009"', True),
        (condition("eq", 'a"b', local="text"), b'"a\\"b"', True),
        (condition("lt", "b", local="text"), b'"a"', True),
        (condition("like", "a%", local=""), b'"a"', None),
        (condition("eq", "5"), None, False),
    ],
)
def test_a_condition_is_decided_as_postgres_would(
    filter: FilterCondition, value: bytes | None, expected: bool | None
) -> None:
    assert passes([filter], {"c": value}) is expected


def test_all_conditions_must_hold() -> None:
    unsure, no, yes = condition("like", "x", local=""), condition("eq", "1"), condition("eq", "2")

    assert passes([unsure, no], {"c": b"2"}) is False
    assert passes([unsure, yes], {"c": b"2"}) is None
    assert passes([yes], {"c": b"2"}) is True
    assert passes([], {}) is True


def test_keys_of_equality_are_those_of_values() -> None:
    assert required_values(condition("in", "1", "2.50")) == [1, Decimal("2.5")]
    assert value_key("number", b"2.500") == Decimal("2.5")
    assert required_values(condition("eq", "1", negated=True)) is None
    assert required_values(condition("gt", "1")) is None
    assert required_values(condition("in", "1", "NaN")) is None
