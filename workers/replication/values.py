"""Values of the log as JSON: text of a type's output function in, the JSON text that `to_jsonb` would write out. Pure.

The connection that reads the texts has TimeZone UTC, DateStyle ISO, IntervalStyle postgres and bytea_output hex.
Two things differ from `to_jsonb` on purpose: bytea has no `\\x` in front, and values of type json stay as they were stored
(line ends in them become blanks). Types whose JSON only the server knows (composites, types with a cast to json such as
hstore) are converted by SQL (`tables.py`).
Source: PostgreSQL, "JSON Functions" (to_jsonb); docs/reference/realtime.md, section 9 ("Value formats").
"""

import re
from collections.abc import Callable
from decimal import Decimal

import orjson

Convert = Callable[[bytes], bytes]

_SPECIAL = re.compile(rb'[\x00-\x1f"\\]')
_LOWER_BOUNDS = re.compile(rb"(?:\[[+-]?\d+:[+-]?\d+\])+=")


def string(text: bytes) -> bytes:
    """Write any text as a JSON string."""
    if _SPECIAL.search(text) is None:
        return b'"%b"' % text
    return orjson.dumps(text.decode(errors="replace"))


def boolean(text: bytes) -> bytes:
    """Write `t` or `f`."""
    return b"true" if text == b"t" else b"false"


def integer(text: bytes) -> bytes:
    """Write an integer of any size, exactly."""
    return text


def numeric(text: bytes) -> bytes:
    """Write a numeric with its scale; NaN and Infinity as strings."""
    return b'"%b"' % text if b"N" in text or b"n" in text else text


def floating(text: bytes) -> bytes:
    """Write a float without an exponent, as a numeric is written; NaN and Infinity as strings."""
    if b"e" in text:
        return format(Decimal(text.decode()), "f").encode()
    if b"N" in text or b"n" in text:
        return b'"%b"' % text
    return b"0" if text == b"-0" else text


def timestamp(text: bytes) -> bytes:
    """Write `2026-01-02 01:04:05.678` with a T between."""
    return b'"%b"' % text.replace(b" ", b"T", 1)


def timestamptz(text: bytes) -> bytes:
    """Write `2026-01-02 01:04:05.678+00` with a T between and the zone in full."""
    zone = text.rfind(b"+")
    if zone < 0:  # infinity
        return b'"%b"' % text
    return b'"%b:00%b"' % (text[: zone + 3].replace(b" ", b"T", 1), text[zone + 3 :])


def plain_json(text: bytes) -> bytes:
    """Return JSON as it was stored, on one line: a raw line end is possible only between its tokens."""
    if b"\n" in text or b"\r" in text:
        return text.replace(b"\n", b" ").replace(b"\r", b" ")
    return text


def binary(text: bytes) -> bytes:
    """Write `\\x00ff` as a string of hexadecimal digits."""
    return b'"%b"' % text[2:]


def array(convert: Convert, delimiter: bytes = b",") -> Convert:
    """Return the converter of arrays whose elements `convert` converts. JSON does not show lower bounds."""
    token = re.compile(
        rb'"((?:[^"\\]|\\.)*)"|([{}])|'
        + re.escape(delimiter)
        + rb"|([^{}\""
        + re.escape(delimiter)
        + rb"]+)",
        re.DOTALL,
    )
    is_plain = re.compile(rb"\{[^{}\"\\]*\}")

    def convert_array(text: bytes) -> bytes:
        if text.startswith(b"["):
            text = _LOWER_BOUNDS.sub(b"", text, count=1)
        if text == b"{}":
            return b"[]"
        if is_plain.fullmatch(text):
            return b"[%b]" % b", ".join(
                [b"null" if item == b"NULL" else convert(item) for item in text[1:-1].split(delimiter)]
            )
        return _nested(token, convert, text)

    return convert_array


def _nested(token: "re.Pattern[bytes]", convert: Convert, text: bytes) -> bytes:
    """Convert an array that contains quotes or arrays. Raises: ValueError if the text is not an array."""
    levels: list[list[bytes]] = [[]]
    for match in token.finditer(text):
        quoted, brace, bare = match.group(1, 2, 3)
        if quoted is not None:
            levels[-1].append(convert(_unescaped(quoted)))
        elif bare is not None:
            levels[-1].append(b"null" if bare == b"NULL" else convert(bare))
        elif brace == b"{":
            levels.append([])
        elif brace == b"}" and len(levels) > 1:
            inner = levels.pop()
            levels[-1].append(b"[%b]" % b", ".join(inner))
    if len(levels) != 1 or len(levels[0]) != 1:
        raise ValueError("not the text of an array")
    return levels[0][0]


_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


def _unescaped(quoted: bytes) -> bytes:
    return _ESCAPED.sub(rb"\1", quoted) if b"\\" in quoted else quoted
