"""The policy document of a form: what a server allows a browser to upload. Pure.

A condition must name every field, except the fields of the signature itself and those that begin with `x-ignore-`.
Source: "Creating a POST policy" of the Amazon S3 API reference; docs/reference/storage.md, section 10.2.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.s3.protocol.errors import S3Error

_UNNAMED = frozenset({"policy", "x-amz-signature", "file"})
_LONGEST_POLICY = 64 * 1024
_EXPIRATION = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z", re.ASCII)

Condition = tuple[str, str, str]
"""Operator, field name in lower case, value."""


@dataclass(frozen=True, slots=True)
class PostPolicy:
    """What a signed policy document allows."""

    expires: float
    conditions: tuple[Condition, ...]
    least: int = 0
    most: int | None = None


class _Document(msgspec.Struct):
    expiration: str
    conditions: list[dict[str, object] | list[object]]


def read_policy(text: str) -> PostPolicy:
    """Parse a policy document. Raises: S3Error (InvalidPolicyDocument)."""
    if len(text) > _LONGEST_POLICY:
        raise _bad_policy("it is too long")
    try:
        document = msgspec.json.decode(base64.b64decode(text, validate=True), type=_Document)
        moment = parse_policy_date(document.expiration)
    except (binascii.Error, ValueError, RecursionError, msgspec.DecodeError):
        raise _bad_policy("Invalid JSON, or no expiration and conditions.") from None
    conditions: list[Condition] = []
    least, most = 0, None
    for condition in document.conditions:
        match condition:
            case dict():
                conditions += [("eq", name.lower(), _text(value)) for name, value in condition.items()]
            case [str(how), low, high] if how.lower() == "content-length-range":
                low, high = _size(low), _size(high)
                least, most = max(least, low), high if most is None else min(most, high)
            case [str(how), str(name), str(value)] if (
                how.lower() in ("eq", "starts-with") and name[:1] == "$"
            ):
                conditions.append((how.lower(), name[1:].lower(), value))
            case _:
                raise _bad_policy("a condition is not of a kind that is known.")
    if most is not None and least > most:
        raise _bad_policy("the ranges of content-length-range have no size in common.")
    return PostPolicy(moment.timestamp(), tuple(conditions), least, most)


def check_policy(policy: PostPolicy, fields: Mapping[str, str]) -> None:
    """Raises: S3Error (AccessDenied) if a condition is not met, or a field lacks one."""
    for how, name, value in policy.conditions:
        field = fields.get(name, "")
        fits = field == value if how == "eq" else field.startswith(value)
        if not fits:
            condition = f'["{how}", "${name}", "{value}"]'
            raise S3Error(
                "AccessDenied", f"Invalid according to Policy: Policy Condition failed: {condition}", 403
            )
    named = {name for _, name, _ in policy.conditions} | _UNNAMED | {"bucket"}
    extra = [name for name in fields if name not in named and not name.startswith("x-ignore-")]
    if extra:
        message = f"Invalid according to Policy: Extra input fields: {', '.join(sorted(extra))}"
        raise S3Error("AccessDenied", message, 403)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _bad_policy("a condition's value must be a string.")
    return value


def parse_policy_date(text: str) -> datetime:
    """Parse the expiration of a policy: ISO 8601 in UTC, as `2026-01-31T12:00:00.000Z`. Raises: ValueError."""
    if not _EXPIRATION.fullmatch(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


def _size(value: object) -> int:
    """Return a limit of `content-length-range`, a number or its text. Raises: S3Error (InvalidPolicyDocument)."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    size = parse_whole_number(text, most=LARGEST_SIZE) if isinstance(text, str) else None
    if size is None:
        raise _bad_policy("content-length-range needs two whole numbers of bytes that are not negative.")
    return size


def _bad_policy(why: str) -> S3Error:
    return S3Error("InvalidPolicyDocument", f"Invalid Policy: {why}")
