"""Unmasked, unfragmented, uncompressed WebSocket frames (RFC 6455, 5.2), built once and written to many sockets. Pure."""

_TEXT = 0x81
_BINARY = 0x82
_PING = 0x89


def text_frame(payload: bytes) -> bytes:
    """Return a text frame (UTF-8)."""
    return _head(_TEXT, len(payload)) + payload


def binary_frame(payload: bytes) -> bytes:
    """Return a binary frame."""
    return _head(_BINARY, len(payload)) + payload


def ping_frame(payload: bytes) -> bytes:
    """Return a PING, which the client answers with the same payload of at most 125 bytes."""
    return _head(_PING, len(payload)) + payload


def _head(first: int, size: int) -> bytes:
    if size < 126:
        return bytes((first, size))
    if size < 65536:
        return bytes((first, 126)) + size.to_bytes(2, "big")
    return bytes((first, 127)) + size.to_bytes(8, "big")
