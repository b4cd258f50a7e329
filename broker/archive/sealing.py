"""Compress and encrypt the files of an archive, and read them back.

A sealed file is a header and frames. The content is compressed (Zstandard) and cut into frames of at most 1 MiB; each frame is encrypted with
AES-256-GCM under a key of this file alone:

    header   magic (8 bytes), id of the operator's key (8), salt (32)
    frame    length of the ciphertext (4 bytes, the highest bit marks the last frame), ciphertext with its tag (16 bytes)

    file's key = HKDF-SHA256(operator's key, salt, "headwater archive " + name)
    nonce      = number of the frame (11 bytes), 1 for the last frame, else 0

So a frame that is changed, exchanged, left out or repeated is detected, and so is a file that ends early (the STREAM construction) or that has
another file's name: the name is part of the key. Sources: Hoang, Reyhanitabar, Rogaway, Vizar, "Online Authenticated-Encryption and
its Nonce-Reuse Misuse-Resistance" (2015); RFC 5869 (HKDF); NIST SP 800-38D (GCM).
"""

import os
import struct
import sys
from collections.abc import Sequence
from typing import TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor, ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdCompressor, ZstdDecompressor, ZstdError

_MAGIC = b"HWARCH1\n"
_ID_SIZE, _SALT_SIZE, _TAG_SIZE = 8, 32, 16
_HEADER_SIZE = len(_MAGIC) + _ID_SIZE + _SALT_SIZE
_LENGTH = struct.Struct("!I")
_LAST = 1 << 31
_FRAME = 1024 * 1024
_LEVEL = 3


Buffer: TypeAlias = bytes | bytearray


class SealBroken(Exception):
    """A file of the archive cannot be read: it was changed, cut off or renamed, or it is encrypted with another key."""


class FileSealer:
    """Seals one file, piece by piece."""

    def __init__(self, name: str, key: bytes) -> None:
        salt = os.urandom(_SALT_SIZE)
        self._cipher = _cipher(name, key, salt)
        self._compressor = ZstdCompressor(_LEVEL)
        self._waiting = bytearray()
        self._number = 0
        self._output = bytearray(_MAGIC + key_id(key) + salt)

    def feed(self, data: Buffer) -> bytes:
        """Take a piece of the content; return the bytes that are ready."""
        self._waiting += self._compressor.compress(data)
        while len(self._waiting) > _FRAME:  # what is left is never empty, so the last frame is not either
            self._add_frame(bytes(self._waiting[:_FRAME]), is_last=False)
            del self._waiting[:_FRAME]
        return self._take()

    def finish(self) -> bytes:
        """Return the last bytes."""
        self._waiting += self._compressor.flush()
        while len(self._waiting) > _FRAME:
            self._add_frame(bytes(self._waiting[:_FRAME]), is_last=False)
            del self._waiting[:_FRAME]
        self._add_frame(bytes(self._waiting), is_last=True)
        return self._take()

    def _add_frame(self, data: bytes, *, is_last: bool) -> None:
        sealed = self._cipher.encrypt(_nonce(self._number, is_last=is_last), data, None)
        self._output += _LENGTH.pack(len(sealed) | (_LAST if is_last else 0)) + sealed
        self._number += 1

    def _take(self) -> bytes:
        ready = bytes(self._output)
        self._output.clear()
        return ready


class FileOpener:
    """Reads one sealed file, piece by piece. `keys` are the operator's, of which one has sealed it."""

    def __init__(self, name: str, keys: Sequence[bytes]) -> None:
        self._name = name
        self._keys = {key_id(key): key for key in keys}
        self._cipher: AESGCM | None = None
        self._decompressor = ZstdDecompressor()
        self._input = bytearray()
        self._number = 0
        self._is_complete = False

    def feed(self, data: bytes) -> bytes:
        """Take a piece of the sealed file; return the content that is ready. Raises: SealBroken."""
        self._input += data
        if self._cipher is None:
            if len(self._input) < _HEADER_SIZE:
                return b""
            self._cipher = self._read_header()
        content = bytearray()
        if self._is_complete and data:
            raise self._not_whole()
        while (frame := self._next_frame(self._cipher)) is not None:
            try:
                content += self._decompressor.decompress(frame) if frame else b""
            except (ZstdError, EOFError) as error:
                raise SealBroken(f"{self._name} is damaged: {error}") from None
        return bytes(content)

    def finish(self) -> None:
        """Check that the file was complete. Raises: SealBroken."""
        if not self._is_complete or self._input or not self._decompressor.eof:
            raise self._not_whole()

    def _not_whole(self) -> SealBroken:
        return SealBroken(f"{self._name} is damaged: it was cut off, or something was added")

    def _read_header(self) -> AESGCM:
        header = bytes(self._input[:_HEADER_SIZE])
        del self._input[:_HEADER_SIZE]
        if not header.startswith(_MAGIC):
            raise SealBroken(f"{self._name} is damaged: it does not begin as a file of an archive")
        id = header[len(_MAGIC) : len(_MAGIC) + _ID_SIZE]
        if id not in self._keys:
            raise SealBroken(
                f"{self._name} was encrypted with the key {id.hex()}, which is not among backup.key and backup.old_keys"
            )
        return _cipher(self._name, self._keys[id], header[-_SALT_SIZE:])

    def _next_frame(self, cipher: AESGCM) -> bytes | None:
        """Return the next decrypted frame; None until it has arrived."""
        if self._is_complete or len(self._input) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._input)
        is_last, size = bool(length & _LAST), length & ~_LAST
        if not _TAG_SIZE <= size <= _FRAME + _TAG_SIZE:
            raise SealBroken(f"{self._name} is damaged: a frame has an impossible length")
        if len(self._input) < _LENGTH.size + size:
            return None
        sealed = bytes(self._input[_LENGTH.size : _LENGTH.size + size])
        del self._input[: _LENGTH.size + size]
        try:
            frame = cipher.decrypt(_nonce(self._number, is_last=is_last), sealed, None)
        except InvalidTag:
            raise SealBroken(
                f"{self._name} is damaged: its content was changed, or it has the name of another file"
            ) from None
        self._number += 1
        self._is_complete = is_last
        return frame


def seal(name: str, key: bytes, data: Buffer) -> bytes:
    """Return a whole file, sealed."""
    sealer = FileSealer(name, key)
    return sealer.feed(data) + sealer.finish()


def key_id(key: bytes) -> bytes:
    """Return what names a key in the files that it sealed, and tells nothing about it."""
    return HKDF(SHA256(), _ID_SIZE, None, b"headwater archive key id").derive(key)


def _cipher(name: str, key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, salt, b"headwater archive " + name.encode()).derive(key))


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])
