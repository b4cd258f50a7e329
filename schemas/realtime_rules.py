"""Who may see a row, decided without SQL where that gives the same answer as SQL would. Pure.

A rule (`schemas.realtime.Rule`) is what the pool `realtime` recognised in the policies of a table. It is judged with what
the log tells of a row and with the claims of a subscriber. What cannot be decided here with certainty is None: ask VISIBLE.

Inside there is one more verdict. A policy that raises an error shows no row, so "no, or an error" is a no by itself; but
beside a branch that says yes it is not known whether Postgres meets the error: then only SQL knows.

    verdict       alone    all of it, with others     any of it, with others
    YES           see      as the others              see, unless one is AT_BEST_NO or UNSURE
    NO            not      not                        as the others
    AT_BEST_NO    not      not                        UNSURE beside a YES, else AT_BEST_NO
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

from schemas.realtime import AllOf, AnyOf, BySql, Everybody, IsClaim, IsConstant, Nobody, Rule

Claims = Mapping[str, object]
"""The claims of a token, as `read_claims` gives them."""

_UUID = re.compile(
    r"(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}|\{(?:[0-9a-f]{4}-?){7}[0-9a-f]{4}\}", re.IGNORECASE | re.ASCII
)
_DIGITS = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_SURE_DIGITS = 9
"""As many digits fit every type that a claim is cast to; more may raise an error there."""
_NULL = b"null"


class _Verdict(Enum):
    YES = 1
    NO = 2
    AT_BEST_NO = 3
    UNSURE = 4


_YES, _NO, _AT_BEST_NO, _UNSURE = _Verdict


def read_claims(raw: bytes) -> dict[str, object] | None:
    """Read the JSON object of a token's claims; None if Postgres might read it differently: then only SQL knows."""
    if b"\\u0000" in raw:
        return None
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return None


def may_see(rule: Rule, values: Mapping[str, bytes | None], claims: Claims) -> bool | None:
    """Tell whether a rule lets a row be seen; None: only SQL knows (VISIBLE).

    `values` are the columns of the row by name, each the JSON text that `schemas.changes.Values` carries; a column that is
    missing or None is not in the log.
    """
    match _judge(rule, values, claims):
        case _Verdict.YES:
            return True
        case _Verdict.UNSURE:
            return None
    return False


def columns_of(rule: Rule) -> frozenset[str]:
    """Give the columns that a rule looks at."""
    match rule:
        case AllOf(rules) | AnyOf(rules):
            return frozenset().union(*map(columns_of, rules))
        case IsClaim() | IsConstant():
            return frozenset((rule.column,))
    return frozenset()


def claim_text(claims: Claims, path: Iterable[str]) -> str | Literal[False] | None:
    """Give the text of a claim as `->>` does; None where it is missing or null, False where only SQL knows."""
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
    """Give a UUID as Postgres prints it; None for what Postgres does not take as one."""
    if not _UUID.fullmatch(text):
        return None
    digits = text.strip("{}").replace("-", "").lower()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _judge(rule: Rule, values: Mapping[str, bytes | None], claims: Claims) -> _Verdict:
    match rule:
        case Everybody():
            return _YES
        case Nobody():
            return _NO
        case BySql():
            return _UNSURE
        case IsClaim():
            return _is_claim(rule, values.get(rule.column), claims)
        case IsConstant():
            return _is_constant(rule, values.get(rule.column))
        case AllOf(rules):
            return _all_of({_judge(each, values, claims) for each in rules})
        case AnyOf(rules):
            return _any_of({_judge(each, values, claims) for each in rules})
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


def _is_claim(rule: IsClaim, value: bytes | None, claims: Claims) -> _Verdict:
    text = claim_text(claims, rule.path)
    if text is False:
        return _UNSURE
    if text is None:
        return _NO
    match rule.kind:
        case "uuid":
            wanted = canonical_uuid(text)
            return _AT_BEST_NO if wanted is None else _same_text(value, wanted)
        case "number":
            return _same_claimed_number(value, text)
    return _same_text(value, text)


def _same_claimed_number(value: bytes | None, text: str) -> _Verdict:
    if not _DIGITS.fullmatch(text):
        return _UNSURE
    found = _same_number(value, text)
    return _AT_BEST_NO if found is _NO and len(text.lstrip("-")) > _SURE_DIGITS else found


def _is_constant(rule: IsConstant, value: bytes | None) -> _Verdict:
    match rule.kind:
        case "bool":
            return _UNSURE if value is None else _YES if value == rule.value.encode() else _NO
        case "number":
            return _same_number(value, rule.value)
    return _same_text(value, rule.value)


def _same_text(value: bytes | None, wanted: str) -> _Verdict:
    if value is None:
        return _UNSURE
    if value == _NULL:
        return _NO
    if value[:1] == b'"':
        return _YES if msgspec.json.decode(value) == wanted else _NO
    if value[:1] in (b"[", b"{"):
        return _UNSURE
    return (
        _YES if value == wanted.encode() else _NO
    )  # a number or a boolean is the same text in SQL and in JSON


def _same_number(value: bytes | None, wanted: str) -> _Verdict:
    if value is None:
        return _UNSURE
    if value == _NULL or value[:1] == b'"':  # NaN and the infinities stand between quotes
        return _NO
    try:
        return _YES if Decimal(value.decode()) == Decimal(wanted) else _NO
    except InvalidOperation:
        return _UNSURE
