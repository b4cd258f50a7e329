"""Checksums of S3: running ones over bytes, and those of a whole object from those of its parts. Pure.

Two kinds of checksum of a multipart upload exist. COMPOSITE: the hash of the binary digests of the parts, one behind the
other, written `<base64>-<number of parts>`. FULL_OBJECT: the checksum of all bytes. Only a CRC has one without reading the
bytes again: CRC(a + b) follows from CRC(a), CRC(b) and the length of b.
Source: "Checking object integrity" of the Amazon S3 user guide.
"""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import anycrc  # type: ignore[import-untyped]  # ships no types; `calc` and `combine` of `Model(name)` are used

CHECKSUM_PREFIX = "x-amz-checksum-"
_CRC_MODELS = {"crc32": "CRC32", "crc32c": "CRC32-ISCSI", "crc64nvme": "CRC64-NVME"}
CRC_KINDS = frozenset(_CRC_MODELS)


class RunningChecksum(Protocol):
    """A checksum that takes bytes as they arrive."""

    def update(self, piece: bytes) -> None:
        """Take bytes in."""

    def digest(self) -> bytes:
        """Return the checksum of all bytes so far."""


class _Crc:
    """A CRC; `calc` returns the one of bytes that follow those of another value."""

    def __init__(self, calc: Callable[[bytes, int], int], size: int) -> None:
        self._calc, self._size, self._value = calc, size, 0

    def update(self, piece: bytes) -> None:
        self._value = self._calc(piece, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size, "big")


class _Hash:
    def __init__(self, name: str) -> None:
        self._hash = hashlib.new(name, usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        self._hash.update(piece)

    def digest(self) -> bytes:
        return self._hash.digest()


CHECKSUM_KINDS: dict[str, Callable[[], RunningChecksum]] = {
    "crc32": partial(_Crc, zlib.crc32, 4),
    "crc32c": partial(_Crc, anycrc.Model(_CRC_MODELS["crc32c"]).calc, 4),
    "crc64nvme": partial(_Crc, anycrc.Model(_CRC_MODELS["crc64nvme"]).calc, 8),
    "md5": partial(_Hash, "md5"),
    "sha1": partial(_Hash, "sha1"),
    "sha256": partial(_Hash, "sha256"),
    "sha512": partial(_Hash, "sha512"),
}
"""Kind, as it ends the name of the header -> a new running checksum."""


def is_digest(text: str, kind: str) -> bool:
    """Return whether a text is base64 of as many bytes as the kind has."""
    try:
        return len(base64.b64decode(text.strip(), validate=True)) == len(CHECKSUM_KINDS[kind]().digest())
    except (binascii.Error, ValueError):
        return False


def composite_checksum(kind: str, parts: Sequence[str]) -> str:
    """Return the COMPOSITE checksum of parts from theirs, in base64: `<base64>-<number of parts>`."""
    running = CHECKSUM_KINDS[kind]()
    for part in parts:
        running.update(base64.b64decode(part))
    return f"{base64.b64encode(running.digest()).decode()}-{len(parts)}"


def full_checksum(kind: str, parts: Sequence[tuple[str, int]]) -> str:
    """Return the CRC of all bytes, in base64, from the CRCs and the sizes of the parts. `kind` is one of `CRC_KINDS`."""
    model = anycrc.Model(_CRC_MODELS[kind])
    value, length = 0, len(CHECKSUM_KINDS[kind]().digest())
    for part, size in parts:
        value = model.combine(value, int.from_bytes(base64.b64decode(part), "big"), size)
    return base64.b64encode(value.to_bytes(length, "big")).decode()
