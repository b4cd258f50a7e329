"""Content codings: compress a body at once, or piece by piece as it is streamed.

After each piece the encoder flushes, so the client can read all that was sent: a stream that pauses stays live.
The functions release the interpreter lock; a body above `THREAD_BYTES` is compressed in a thread, so that the requests
of other clients go on. Figures: tests/bench/compression.py. Source: RFC 1952 (gzip), RFC 7932 (br), RFC 8878 (zstd).
"""

import asyncio
import sys
import zlib
from collections.abc import Callable
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # ships no types

from schemas.settings.tree import CompressionSettings

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

THREAD_BYTES = 128 * 1024
"""Compressing as much takes about a millisecond of the event loop."""
_GZIP = 31
"""zlib's number for the largest window, with the head of gzip."""
_STREAM_WINDOW = 18
"""Binary logarithm of brotli's window for streams: 256 KiB, so that many open streams need little memory."""


class Encoder(Protocol):
    """Compresses one body."""

    def piece(self, data: bytes) -> bytes:
        """Compress a piece; what is returned can be decoded up to its end."""
        ...

    def finish(self) -> bytes:
        """Return the end of the body."""
        ...


class _Zstd:
    def __init__(self, level: int) -> None:
        self._compressor = zstd.ZstdCompressor(level)

    def piece(self, data: bytes) -> bytes:
        return self._compressor.compress(data, zstd.ZstdCompressor.FLUSH_BLOCK)

    def finish(self) -> bytes:
        return self._compressor.flush()


class _Brotli:
    def __init__(self, level: int) -> None:
        self._compressor = brotli.Compressor(quality=level, lgwin=_STREAM_WINDOW)

    def piece(self, data: bytes) -> bytes:
        return bytes(self._compressor.process(data) + self._compressor.flush())

    def finish(self) -> bytes:
        return bytes(self._compressor.finish())


class _Gzip:
    def __init__(self, level: int) -> None:
        self._compressor = zlib.compressobj(level, wbits=_GZIP)

    def piece(self, data: bytes) -> bytes:
        return self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._compressor.flush()


class Encoders:
    """The codings with their levels."""

    def __init__(self, settings: CompressionSettings) -> None:
        zstd_level, brotli_level, gzip_level = (
            settings.zstd_level,
            settings.brotli_level,
            settings.gzip_level,
        )
        self._at_once: dict[str, Callable[[bytes], bytes]] = {
            "zstd": lambda data: zstd.compress(data, zstd_level),
            "br": lambda data: bytes(brotli.compress(data, quality=brotli_level)),
            "gzip": lambda data: zlib.compress(data, gzip_level, wbits=_GZIP),
        }
        self._streamed: dict[str, Callable[[], Encoder]] = {
            "zstd": lambda: _Zstd(zstd_level),
            "br": lambda: _Brotli(brotli_level),
            "gzip": lambda: _Gzip(gzip_level),
        }

    async def compress(self, coding: str, data: bytes) -> bytes:
        """Return a body in a coding."""
        if len(data) <= THREAD_BYTES:
            return self.compress_now(coding, data)
        return await asyncio.to_thread(self._at_once[coding], data)

    def compress_now(self, coding: str, data: bytes) -> bytes:
        """Return a body in a coding; a short one, because nothing else runs meanwhile."""
        return self._at_once[coding](data)

    def encoder(self, coding: str) -> Encoder:
        """Return an encoder for a body that comes in pieces."""
        return self._streamed[coding]()


async def encoded_piece(encoder: Encoder, data: bytes) -> bytes:
    """Compress a piece of a streamed body; a long one in a thread."""
    return encoder.piece(data) if len(data) <= THREAD_BYTES else await asyncio.to_thread(encoder.piece, data)
