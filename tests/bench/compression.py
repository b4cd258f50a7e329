"""What compressing a JSON body costs: processor time and bytes, for each encoding, level and library.

    python -m tests.bench.compression            the encodings as the gateway uses them
    python -m tests.bench.compression --all      also other levels and libraries

Bodies are rows as REST answers them: ids, names, texts of words, times and numbers.
"""

import json
import random
import sys
import time
import zlib
from collections.abc import Callable, Iterator

import brotli
from backports import zstd

SIZES = (1_000, 10_000, 120_000)
_WORDS = [
    "river",
    "lake",
    "harbour",
    "bridge",
    "street",
    "winter",
    "summer",
    "order",
    "invoice",
    "customer",
    "ticket",
    "open",
    "closed",
    "paid",
    "late",
    "note",
    "delivery",
    "address",
    "garden",
    "market",
    "station",
    "teacher",
    "doctor",
    "library",
    "window",
    "table",
]

Encode = Callable[[bytes], bytes]


def rows(size: int) -> bytes:
    """Return a JSON array of rows of about `size` bytes."""
    source = random.Random(size)
    listed: list[str] = []
    length = 0
    while length < size:
        row = {
            "id": len(listed) + 1,
            "uuid": f"{source.getrandbits(128):032x}",
            "name": " ".join(source.choices(_WORDS, k=2)),
            "note": " ".join(source.choices(_WORDS, k=source.randint(3, 15))),
            "amount": round(source.random() * 1000, 2),
            "created_at": f"2026-{source.randint(1, 12):02}-{source.randint(1, 28):02}T10:{source.randint(0, 59):02}:00+00:00",
            "is_open": source.random() < 0.5,
        }
        listed.append(json.dumps(row))
        length += len(listed[-1]) + 2
    return ("[" + ", \n ".join(listed) + "]").encode()


def encodings(*, others: bool) -> Iterator[tuple[str, Encode]]:
    """Return the name and the function of each encoding."""
    yield "zstd 3", lambda data: zstd.compress(data, 3)
    yield "br 4", lambda data: brotli.compress(data, quality=4)
    yield "gzip 4 (zlib)", lambda data: zlib.compress(data, 4, wbits=31)
    if not others:
        return
    for level in (1, 2, 4, 5, 6, 9):
        yield f"zstd {level}", lambda data, level=level: zstd.compress(data, level)  # type: ignore[misc]  # bound
    for level in (1, 2, 3, 5, 6):
        yield f"br {level}", lambda data, level=level: brotli.compress(data, quality=level)  # type: ignore[misc]  # bound
    for level in (1, 3, 5, 6):
        yield f"gzip {level} (zlib)", lambda data, level=level: zlib.compress(data, level, wbits=31)  # type: ignore[misc]  # bound
    try:
        import isal.isal_zlib as isal
        import zstandard
    except ImportError:
        return
    for level in (1, 2, 3):
        yield f"gzip {level} (isal)", lambda data, level=level: isal.compress(data, level, 31)
    yield "zstd 3 (zstandard)", lambda data: zstandard.ZstdCompressor(level=3).compress(data)


def measure(encode: Encode, data: bytes) -> tuple[float, int]:
    """Return the processor time of one call in microseconds, the best of five series, and the bytes."""
    size = len(encode(data))
    count = max(3, 2_000_000 // len(data))
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(count):
            encode(data)
        best = min(best, (time.process_time() - start) / count)
    return best * 1e6, size


def main() -> None:
    """Print a table."""
    bodies = {size: rows(size) for size in SIZES}
    print(f"{'encoding':<20}" + "".join(f"{size // 1000:>8} KB: us, bytes" for size in SIZES))
    for name, encode in encodings(others="--all" in sys.argv):
        cells = (measure(encode, data) for data in bodies.values())
        print(f"{name:<20}" + "".join(f"{spent:>14.0f} {size:>7}" for spent, size in cells))


if __name__ == "__main__":
    main()
