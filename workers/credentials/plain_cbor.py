"""Checks that CBOR is as authenticators write it, before a library decodes it. Pure.

The library that verifies credentials decodes its input and encodes it again. Tags (shared values, big numbers, regular
expressions) would let a hundred bytes expand to gigabytes there, so the bytes are scanned first: complete items of definite
length, no tags, no floats, little depth. CTAP2 allows authenticators nothing else.

    item = head argument [content];  head = major type (3 bits), kind of argument (5 bits)

Sources: RFC 8949, section 3; CTAP 2.1, section 8 ("Message Encoding"); WebAuthn Level 3, sections 6.1 and 6.5.
"""

_INTEGERS, _STRINGS, _ARRAY, _MAP, _SIMPLE = (0, 1), (2, 3), 4, 5, 7
_MAX_DEPTH = 8
_LONG_ARGUMENTS = {24: 1, 25: 2, 26: 4, 27: 8}
_SIMPLE_VALUES = (20, 21, 22)
"""false, true, null."""

_HEAD_BYTES = 37
"""Length of fixed authenticator data: the hash of the relying party's id, a byte of flags, the counter."""
_HAS_CREDENTIAL = 0x40
_ID_AT = _HEAD_BYTES + 16


class NotPlain(ValueError):
    """The bytes are not a sequence of plain CBOR items."""


def require_plain(data: bytes) -> None:
    """Raise unless the bytes are plain items, one after another, to the end. Raises: NotPlain."""
    at = 0
    while at < len(data):
        at = _after_item(data, at, _MAX_DEPTH)


def cbor_of_authenticator_data(data: bytes) -> bytes:
    """Return the part of authenticator data that is CBOR: the credential's public key, then extensions.

    Raises: NotPlain if the data are too short.
    """
    if len(data) < _HEAD_BYTES:
        raise NotPlain("authenticator data are too short")
    if not data[32] & _HAS_CREDENTIAL:
        return data[_HEAD_BYTES:]
    length = int.from_bytes(data[_ID_AT : _ID_AT + 2], "big")
    if len(data) < _ID_AT + 2 + length:
        raise NotPlain("authenticator data are too short")
    return data[_ID_AT + 2 + length :]


def _after_item(data: bytes, at: int, depth: int) -> int:
    """Return the position after the item that starts here."""
    if at >= len(data):
        raise NotPlain("an item is missing")
    if depth == 0:
        raise NotPlain("items lie too deep in one another")
    major, kind = data[at] >> 5, data[at] & 31
    if major == _SIMPLE:
        if kind not in _SIMPLE_VALUES:
            raise NotPlain("neither false, true nor null")
        return at + 1
    argument, at = _argument(data, at + 1, kind)
    if major in _INTEGERS:
        return at
    if major in _STRINGS:
        if argument > len(data) - at:
            raise NotPlain("a string is longer than the data")
        return at + argument
    if major not in (_ARRAY, _MAP):
        raise NotPlain("a tag")
    for _ in range(argument * (2 if major == _MAP else 1)):
        at = _after_item(data, at, depth - 1)
    return at


def _argument(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Parse a head's argument: its value, and the position after it."""
    if kind < 24:
        return kind, at
    size = _LONG_ARGUMENTS.get(kind)
    if size is None:
        raise NotPlain("of no definite length")
    if at + size > len(data):
        raise NotPlain("the data end within a head")
    return int.from_bytes(data[at : at + size], "big"), at + size
