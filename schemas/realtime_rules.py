"""Evaluation of row visibility without SQL, where the answer is the same as that of SQL. Pure.

The pool `realtime` recognises the policies of a table as a rule (`schemas.realtime.Rule`). The edge evaluates it with the
values of a row in the log and the claims of a subscriber. Where the answer is not certain it is None, and the edge sends
VISIBLE to the pool.

Theory. A policy that raises an error shows no row. So "no, or an error" (AT_BEST_NO) hides the row by itself. Beside a
branch that is true it is unknown whether Postgres evaluates the failing branch at all, so only SQL can decide (UNSURE).

    verdict       alone    combined by AND            combined by OR
    YES           visible  as the others              visible, unless another is AT_BEST_NO or UNSURE
    NO            hidden   hidden                     as the others
    AT_BEST_NO    hidden   hidden                     UNSURE beside a YES, else AT_BEST_NO
    UNSURE        ask      AT_BEST_NO beside a no     UNSURE

Source: PostgreSQL, "Row Security Policies"; migrations auth/0001 (what `auth.uid()` and its siblings read).
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from typing import Literal, assert_never

import msgspec

from schemas.realtime import AllOf, AnyOf, ClaimRule, ConstantRule, EveryRow, NoRow, Rule, SqlRule

Claims = Mapping[str, object]
"""The claims of a token, as `read_claims` returns them."""

_UUID = re.compile(
    r"(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}|\{(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}\}", re.IGNORECASE | re.ASCII
)
_DIGITS = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_SURE_DIGITS = 9
"""Numbers with at most this many digits fit every type that a claim is cast to; longer ones may raise an error there."""
_NULL = b"null"


class _Verdict(Enum):
    YES = 1
    NO = 2
    AT_BEST_NO = 3
    UNSURE = 4


_YES, _NO, _AT_BEST_NO, _UNSURE = _Verdict


def read_claims(raw: bytes) -> dict[str, object] | None:
    """Read the JSON object of a token's claims; None if Postgres might read it differently, so that only SQL can decide."""
    if b"\\u0000" in raw:
        return None
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return None


def may_see(rule: Rule, values: Mapping[str, bytes | None], claims: Claims) -> bool | None:
    """Return whether a row is visible by a rule; None if only SQL can decide (VISIBLE).

    `values` holds the columns of the row by name, each the JSON text that `schemas.changes.Values` carries. A column that
    is missing or None is not in the log.
    """
    match _judge(rule, values, claims):
        case _Verdict.YES:
            return True
        case _Verdict.UNSURE:
            return None
    return False


def columns_of(rule: Rule) -> frozenset[str]:
    """Return the columns that a rule reads."""
    match rule:
        case AllOf(rules) | AnyOf(rules):
            return frozenset().union(*map(columns_of, rules))
        case ClaimRule() | ConstantRule():
            return frozenset((rule.column,))
    return frozenset()


def claim_text(claims: Claims, path: Iterable[str]) -> str | Literal[False] | None:
    """Return the text of a claim as `->>` does; None if it is missing or null, False if only SQL can tell its text."""
    value: object = claims
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
    return False


@lru_cache(maxsize=16_384)
def canonical_uuid(text: str) -> str | None:
    """Return a UUID as Postgres prints it; None for a text that Postgres does not read as a UUID."""
    if not _UUID.fullmatch(text):
        return None
    digits = text.strip("{}").replace("-", "").lower()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _judge(rule: Rule, values: Mapping[str, bytes | None], claims: Claims) -> _Verdict:
    match rule:
        case EveryRow():
            return _YES
        case NoRow():
            return _NO
        case SqlRule():
            return _UNSURE
        case ClaimRule():
            return _is_claim(rule, values.get(rule.column), claims)
        case ConstantRule():
            return _is_constant(rule, values.get(rule.column))
        case AllOf(rules):
            return _all_of({_judge(part, values, claims) for part in rules})
        case AnyOf(rules):
            return _any_of({_judge(part, values, claims) for part in rules})
    assert_never(rule)


def _all_of(verdicts: set[_Verdict]) -> _Verdict:
    if verdicts <= {_YES}:
        return _YES
    if verdicts <= {_YES, _NO}:
        return _NO
    return _AT_BEST_NO if verdicts & {_NO, _AT_BEST_NO} else _UNSURE


def _any_of(verdicts: set[_Verdict]) -> _Verdict:
    if _UNSURE in verdicts or {_YES, _AT_BEST_NO} <= verdicts:
        return _UNSURE
    if _AT_BEST_NO in verdicts:
        return _AT_BEST_NO
    return _YES if _YES in verdicts else _NO


def _is_claim(rule: ClaimRule, value: bytes | None, claims: Claims) -> _Verdict:
    text = claim_text(claims, rule.path)
    if text is False:
        return _UNSURE
    if text is None:
        return _NO
    match rule.kind:
        case "uuid":
            uuid = canonical_uuid(text)
            return _AT_BEST_NO if uuid is None else _same_text(value, uuid)
        case "number":
            return _same_claimed_number(value, text)
    return _same_text(value, text)


def _same_claimed_number(value: bytes | None, text: str) -> _Verdict:
    if not _DIGITS.fullmatch(text):
        return _UNSURE
    verdict = _same_number(value, text)
    return _AT_BEST_NO if verdict is _NO and len(text.lstrip("-")) > _SURE_DIGITS else verdict


def _is_constant(rule: ConstantRule, value: bytes | None) -> _Verdict:
    match rule.kind:
        case "bool":
            return _UNSURE if value is None else _YES if value == rule.value.encode() else _NO
        case "number":
            return _same_number(value, rule.value)
    return _same_text(value, rule.value)


def _same_text(value: bytes | None, expected: str) -> _Verdict:
    if value is None:
        return _UNSURE
    if value == _NULL:
        return _NO
    if value[:1] == b'"':
        return _YES if msgspec.json.decode(value) == expected else _NO
    if value[:1] in (b"[", b"{"):
        return _UNSURE
    return (
        _YES if value == expected.encode() else _NO
    )  # a number or a boolean is the same text in SQL and in JSON


def _same_number(value: bytes | None, expected: str) -> _Verdict:
    if value is None:
        return _UNSURE
    if value == _NULL or value[:1] == b'"':  # NaN and the infinities are JSON strings
        return _NO
    try:
        return _YES if Decimal(value.decode()) == Decimal(expected) else _NO
    except InvalidOperation:
        return _UNSURE
