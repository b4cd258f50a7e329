"""Numbers that clients spell: read once, with bounds, the same in every interface. Pure.

Python's `int` and `float` are no parsers of a protocol. They take `1_000`, ` 5`, `+5`, digits of other scripts, `nan` and
`infinity`; they refuse thousands of digits with an error of their own, which becomes an answer 500; and a text that was
cut to its first digits (`int(text[:10])`) is another number than the whole text, so that a check of one and a use of the
other part ways. Here a number is ASCII digits, the whole text is looked at, and the result lies within the caller's bounds.

Leading zeros do not count (RFC 9110 allows them in Content-Length), up to `LONGEST` characters in all.
`tests/schemas/test_numbers.py` fails on a conversion of text elsewhere that gives no reason.
"""

import math
import re

LARGEST_SIZE = 2**63 - 1
"""Bytes of the largest body that a header may announce: what Postgres and the disk count with."""
LONGEST = 64
"""Characters of a number at most; the largest bound of a caller has far fewer."""

_WHOLE = re.compile(r"[0-9]+")
_SIGNED = re.compile(r"-?[0-9]+")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]*)?|-?\.[0-9]+")
_HEX_DIGITS = 16


def parse_whole_number(text: str, *, most: int, least: int = 0) -> int | None:
    """Return the number that a text spells, or None if it spells none or one outside of the bounds.

    A minus sign is read only where `least` is negative.
    """
    if len(text) > LONGEST or not (_SIGNED if least < 0 else _WHOLE).fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def clamp_whole_number(text: str, *, most: int) -> int | None:
    """Return the number that a text of digits spells, at most `most`; None if the text is anything else.

    For upper limits (`limit=`, `max-keys=`), where a number of any length means "as many as there may be".
    """
    if not _WHOLE.fullmatch(text):
        return None
    digits = text.lstrip("0") or "0"
    return most if len(digits) > LONGEST else min(int(digits), most)


def parse_hex_number(text: str, *, most: int) -> int | None:
    """Return the number that a text spells in hexadecimal digits, or None if it spells none or one above `most`."""
    if len(text) > _HEX_DIGITS or not _HEX.fullmatch(text):
        return None
    number = int(text, 16)
    return number if number <= most else None


def parse_decimal_number(text: str, *, least: float, most: float) -> float | None:
    """Return the number that a text spells in digits with or without a point, or None outside of the bounds."""
    if len(text) > LONGEST or not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if least <= number <= most else None


def read_json_number(value: object, *, least: float, most: float) -> float | None:
    """Return a number of a JSON document as a float, cut to the bounds; None for what is no number.

    Booleans are no numbers, and NaN is none. A whole number of a thousand digits, which `float` refuses, is cut as well.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return float(min(max(value, least), most))
