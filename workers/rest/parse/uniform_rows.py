"""Whether all objects of a long JSON array have the same keys, without making a dictionary of each. Pure.

The keys of the first object name the fields of a struct without further fields, and the array is decoded as structs: the
decoder compares each key with the field that comes next, and makes no keys and no values. Where it meets other keys, the rest
is only checked to be JSON. What this cannot decide (a short body, a long first object, unusual keys) is left to the caller.

Why not dictionaries: the decoder holds the interpreter's lock, so no other request runs meanwhile, and ten megabytes of short objects
are a second and 300 MB.
"""

from collections.abc import Callable
from functools import lru_cache

import msgspec

_LONG = 4096
"""Bytes of a body from which on making a decoder for unknown keys pays."""
_MOST_NAMES = 200
_LONGEST_FIRST = 64 * 1024
_MOST_BRACES = 64
"""Closing braces of a long array that may end its first object."""
_SPACES = b" \t\r\n"
_LONGEST_NAME = 63
"""What a name can have in Postgres. Longer ones name no column, and a decoder that is kept would keep them."""
_first = msgspec.json.Decoder(dict[str, msgspec.Raw])
_skip = msgspec.json.Decoder(msgspec.Raw).decode


def first_names(body: bytes) -> tuple[str, ...] | None:
    """Return the keys of the first object of a long array in its order; None where they cannot be told at once."""
    if len(body) < _LONG:
        return None
    begin = body.find(b"{", 0, _LONGEST_FIRST)
    if begin < 0 or body[:begin].strip(_SPACES) != b"[":
        return None
    end = begin
    for _ in range(_MOST_BRACES):
        end = body.find(b"}", end, begin + _LONGEST_FIRST) + 1
        if not end:
            return None
        try:
            names = tuple(_first.decode(body[begin:end]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # a brace of a value
        is_usual = len(names) <= _MOST_NAMES and max(map(len, names), default=0) <= _LONGEST_NAME
        return names if is_usual else None
    return None


def has_names(body: bytes, names: tuple[str, ...]) -> bool | None:
    """Return whether an array's members are objects with just these keys; None if that is not certain.

    Raises: msgspec.DecodeError, UnicodeDecodeError, RecursionError for what is not JSON.
    """
    if not names:
        return _has_empty_objects(body)
    decode = None if b"\\" in body else _decoder(names)
    if decode is None:
        return None
    try:
        decode(body)
    except msgspec.ValidationError:
        check_json(body)
        return False
    return True


def check_json(body: bytes) -> None:
    """Check that a body is JSON without making anything of it. Raises: as `has_names`."""
    _skip(body)
    body.decode()  # texts were skipped


def _has_empty_objects(body: bytes) -> bool | None:
    plain = body.translate(None, _SPACES)
    members = (len(plain) - 1) // 3
    return True if plain == b"[" + (b"{}," * members)[:-1] + b"]" else None


@lru_cache(maxsize=256)
def _decoder(names: tuple[str, ...]) -> Callable[[bytes], object] | None:
    """Return the decoder of an array of objects with these keys; None for keys that a struct cannot have."""
    fields = [(f"field_{number}", msgspec.Raw, msgspec.field(name=name)) for number, name in enumerate(names)]
    try:
        row = msgspec.defstruct("UniformRow", fields, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(list[row]).decode  # type: ignore[valid-type]  # made for these keys
    except (TypeError, ValueError):
        return None
