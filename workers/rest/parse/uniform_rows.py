"""Whether all objects of a long JSON array have the same keys, without making a dictionary of each. Pure.

The keys of the first object name the fields of a struct without further fields, and the array is decoded as structs: the
decoder compares each key with the field that comes next, and makes no keys and no values. What this cannot decide (a short
body, a first object with an object or a brace in it, unusual keys, keys that differ) is left to the caller.
"""

from collections.abc import Callable
from functools import lru_cache

import msgspec

_LONG = 4096
"""Bytes of a body from which on making a decoder for unknown keys pays."""
_MOST_NAMES = 200
_LONGEST_NAME = 63
"""What a name can have in Postgres. Longer ones name no column, and a decoder that is kept would keep them."""
_first = msgspec.json.Decoder(dict[str, msgspec.Raw])


def first_names(body: bytes) -> tuple[str, ...] | None:
    """Return the keys of the first object of a long array in its order; None where they cannot be told at once."""
    if len(body) < _LONG:
        return None
    begin = body.find(b"{")
    end = body.find(b"}", begin)
    if begin < 0 or body[:begin].strip() != b"[":
        return None
    try:
        names = tuple(_first.decode(body[begin : end + 1]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_usual = 0 < len(names) <= _MOST_NAMES and max(map(len, names)) <= _LONGEST_NAME
    return names if is_usual else None


def has_names(body: bytes, names: tuple[str, ...]) -> bool:
    """Return whether a body is an array of objects with just these keys; False also where it is not JSON at all."""
    decode = _decoder(names)
    if decode is None:
        return False
    try:
        decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


@lru_cache(maxsize=256)
def _decoder(names: tuple[str, ...]) -> Callable[[bytes], object] | None:
    """Return the decoder of an array of objects with these keys; None for keys that a struct cannot have."""
    fields = [(f"field_{number}", msgspec.Raw, msgspec.field(name=name)) for number, name in enumerate(names)]
    try:
        row = msgspec.defstruct("UniformRow", fields, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(list[row]).decode  # type: ignore[valid-type]  # made for these keys
    except (TypeError, ValueError):
        return None
