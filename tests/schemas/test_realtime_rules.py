"""Rules judged without SQL, and when they leave the judgement to it."""

from typing import Literal

import pytest

from schemas.realtime import AllOf, AnyOf, ClaimRule, ConstantRule, EveryRow, NoRow, Rule, SqlRule
from schemas.realtime_rules import canonical_uuid, claim_text, columns_of, may_see, read_claims

ID = "a11ce000-0000-4000-8000-000000000001"
OWNER = ClaimRule("owner", ["sub"], "uuid")
YES, NO, ASK = EveryRow(), NoRow(), SqlRule()
RAISES = ClaimRule("owner", ["bad"], "uuid")
"""False, or an error in Postgres."""
CLAIMS: dict[str, object] = {"sub": ID, "bad": "x", "n": 5, "flag": True, "deep": {"a": "b", "none": None}}
VALUES = {"owner": f'"{ID}"'.encode(), "title": b'"b"', "n": b"5", "none": b"null", "toast": None}


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        (YES, True),
        (NO, False),
        (ASK, None),
        (OWNER, True),
        (RAISES, False),
        (ClaimRule("title", ["deep", "a"], "text"), True),
        (ClaimRule("title", ["deep"], "text"), None),
        (ClaimRule("title", ["deep", "a", "b"], "text"), False),
        (ClaimRule("title", ["deep", "none"], "text"), False),
        (ClaimRule("none", ["sub"], "uuid"), False),
        (ClaimRule("toast", ["sub"], "uuid"), None),
        (ClaimRule("missing", ["sub"], "uuid"), None),
        (ClaimRule("toast", ["missing"], "uuid"), False),
        (ClaimRule("n", ["n"], "number"), True),
        (ClaimRule("n", ["n"], "text"), True),
        (ClaimRule("n", ["bad"], "number"), None),
        (ConstantRule("n", "5.0", "number"), True),
        (ConstantRule("n", "6", "number"), False),
        (ConstantRule("none", "5", "number"), False),
        (AllOf([YES, OWNER]), True),
        (AllOf([YES, NO]), False),
        (AllOf([NO, ASK]), False),
        (AllOf([YES, ASK]), None),
        (AllOf([RAISES, ASK]), False),
        (AnyOf([NO, OWNER]), True),
        (AnyOf([NO, NO]), False),
        (AnyOf([YES, ASK]), None),
        (AnyOf([NO, ASK]), None),
        (AnyOf([NO, RAISES]), False),
        (AnyOf([YES, RAISES]), None),
        (AnyOf([AllOf([NO, ASK]), YES]), None),
        (AnyOf([AllOf([NO, ASK]), NO]), False),
    ],
)
def test_a_rule_is_judged_or_left_to_sql(rule: Rule, seen: bool | None) -> None:
    assert may_see(rule, VALUES, CLAIMS) is seen


@pytest.mark.parametrize(
    ("value", "claim", "seen"),
    [
        (b"5", 5, True),
        (b"5", "5", True),
        (b"5", "-5", False),
        (b"5", " 5", None),
        (b"5", "5x", None),
        (b"5", 5.0, None),
        (b"5.00", 5, True),
        (b'"NaN"', 5, False),
        (b"9007199254740993", 9007199254740993, True),
        (b"9007199254740992", 9007199254740993, False),
        (b"5", [5], None),
    ],
)
def test_numbers_are_compared_exactly(value: bytes, claim: object, seen: bool | None) -> None:
    assert may_see(ClaimRule("c", ["c"], "number"), {"c": value}, {"c": claim}) is seen


def test_a_number_that_its_type_may_not_hold_leaves_alternatives_to_sql() -> None:
    large = ClaimRule("c", ["c"], "number")

    assert may_see(AnyOf([YES, large]), {"c": b"5"}, {"c": 12345678901}) is None
    assert may_see(AnyOf([YES, large]), {"c": b"5"}, {"c": 123456789}) is True


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (ID, ID),
        (ID.upper(), ID),
        ("{" + ID + "}", ID),
        (ID.replace("-", ""), ID),
        ("a11c-e000-0000-4000-8000-0000-0000-0001", ID),
        ("{" + ID, None),
        (ID + "}", None),
        (" " + ID, None),
        (ID + "-", None),
        ("a11ce0-00000040008000000000000001", None),
        ("", None),
    ],
)
def test_a_uuid_is_read_as_postgres_reads_it(text: str, canonical: str | None) -> None:
    assert canonical_uuid(text) == canonical


@pytest.mark.parametrize(
    ("value", "kind", "constant", "seen"),
    [
        (b"true", "bool", "true", True),
        (b"false", "bool", "true", False),
        (b"null", "bool", "false", False),
        (None, "bool", "false", None),
        (b'"\\u00fc"', "text", "ü", True),
        (b'"a "', "text", "a", False),
        (b'["a"]', "text", "a", None),
    ],
)
def test_constants_are_compared_with_what_the_log_carries(
    value: bytes | None, kind: Literal["text", "bool"], constant: str, seen: bool | None
) -> None:
    assert may_see(ConstantRule("c", constant, kind), {"c": value}, {}) is seen


def test_claims_that_postgres_may_read_otherwise_are_not_read() -> None:
    assert read_claims(b'{"a": 1}') == {"a": 1}
    assert read_claims(b'{"a": "\\u0000"}') is None
    assert read_claims(b"[]") is None
    assert claim_text({"a": 1.5}, ["a"]) is False
    assert claim_text({"a": False}, ["a"]) == "false"


def test_a_rule_names_its_columns() -> None:
    assert columns_of(AllOf([OWNER, AnyOf([ConstantRule("n", "1", "number"), ASK])])) == {"owner", "n"}
