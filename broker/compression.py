"""Compress data of our own (messages, blocks of the log store) with Zstandard; bodies of responses have `services/gateway/requests/encoders.py`."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor, ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdCompressor, ZstdDecompressor, ZstdError

_LEVEL = 3


class NotCompressed(Exception):
    """The data is not Zstandard, is cut off, or is longer than the limit."""


def compress(data: bytes) -> bytes:
    """Return the data compressed, as one frame."""
    compressor = ZstdCompressor(_LEVEL)
    return compressor.compress(data, mode=ZstdCompressor.FLUSH_FRAME)


def decompress(data: bytes, most: int) -> bytes:
    """Return the data of one frame, of at most `most` bytes. Raises: NotCompressed."""
    decompressor = ZstdDecompressor()
    try:
        result = decompressor.decompress(data, max_length=most)
    except (ZstdError, EOFError) as error:
        raise NotCompressed(str(error)) from None
    if not decompressor.eof:
        raise NotCompressed(f"the data is cut off or has more than {most} bytes")
    return result
