"""Parse numbers in requests, with bounds, in the same way for every interface (pure).

Python's `int` and `float` do not suit protocols. They accept `1_000`, ` 5`, `+5`, digits of other scripts, `nan` and
`infinity`. They raise a separate error for thousands of digits, which becomes a response 500. And a text cut to its
first digits (`int(text[:10])`) is a different number than the whole text, so that a check of one does not protect a
use of the other. Here a number consists of ASCII digits, the whole text is parsed, and the result is within the
caller's bounds.

Leading zeros are ignored (RFC 9110 allows them in Content-Length), up to `LONGEST` characters in all.
`tests/schemas/test_numbers.py` fails on a conversion of text elsewhere without a stated reason.
"""

import math
import re

LARGEST_SIZE = 2**63 - 1
"""Bytes of the largest body that a header may announce: the largest that Postgres and the disk can count."""
LONGEST = 64
"""Characters of a number at most; the largest bound of a caller has far fewer."""

_WHOLE = re.compile(r"[0-9]+")
_SIGNED = re.compile(r"-?[0-9]+")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]*)?|-?\.[0-9]+")
_HEX_DIGITS = 16


def parse_whole_number(text: str, *, most: int, least: int = 0) -> int | None:
    """Parse a whole number; None if the text is not one, or is outside the bounds.

    A minus sign is accepted only if `least` is negative.
    """
    if len(text) > LONGEST or not (_SIGNED if least < 0 else _WHOLE).fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def clamp_whole_number(text: str, *, most: int) -> int | None:
    """Parse a text of digits and return the number, reduced to `most`; None for any other text.

    For upper limits (`limit=`, `max-keys=`), where a number of any length means "as many as possible".
    """
    if not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("0") or "0"
    return most if len(digits) > LONGEST else min(int(digits), most)


def parse_hex_number(text: str, *, most: int) -> int | None:
    """Parse a number in hexadecimal digits; None if the text is not one, or is above `most`."""
    if len(text) > _HEX_DIGITS or not _HEX.fullmatch(text):
        return None
    number = int(text, 16)
    return number if number <= most else None


def parse_decimal_number(text: str, *, least: float, most: float) -> float | None:
    """Parse a number with or without a decimal point; None if the text is not one, or is outside the bounds."""
    if len(text) > LONGEST or not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if least <= number <= most else None


def read_json_number(value: object, *, least: float, most: float) -> float | None:
    """Return a number of a JSON document as a float, reduced to the bounds; None for other values.

    Booleans and NaN do not count as numbers. A whole number of a thousand digits, which `float` rejects, is reduced
    as well.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return float(min(max(value, least), most))
