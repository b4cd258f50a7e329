"""Edits of bytes: what turns a valid example into one that is nearly valid. Pure; all chance comes from the argument.

Input that is made of nothing but random bytes ends at a parser's first check. Input that was valid and had one part changed
reaches the check of that part. Both fuzzers (`core.py`) and Hypothesis tests (`near`) use these edits.
"""

import re
from collections.abc import Callable, Sequence
from random import Random

from hypothesis import strategies as st

LONGEST = 64 * 1024
"""Bytes of the longest case."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_NUMBERS = (
    b"0 -1 1 2 7 255 256 65535 65536 2147483647 2147483648 -2147483649 9223372036854775807 9223372036854775808 "
    b"18446744073709551616 00000000001 1e400 -0 0.1 1e-7 NaN 9999999999999999999999999999999999999999"
).split()
_HARD = (
    b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f\xa6\x86", b"\xe2\x80\xae", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\t", b" ",
    b"'", b'"', b"`", b"\\", b"/", b"..", b"../", b"%00", b"%2e%2e%2f", b"%", b"%zz", b"%25", b"<", b">", b"&", b"{{", b"}}", b"${",
    b"(", b")", b"[", b"]", b"{", b"}", b",", b";", b":", b"=", b"*", b"--", b"/*", b"\\u0000", b"\\ud800", b"null", b"true", b"[]", b"{}",
)  # fmt: skip


def edited(random: Random, data: bytes, words: Sequence[bytes] = (), others: Sequence[bytes] = ()) -> bytes:
    """Return data with one to four edits. `words` may be put in; parts of `others` may take the place of its own."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        data = random.choice(_EDITS)(random, data, words, others)
    return data[:LONGEST]


def near(valid: Sequence[bytes], words: Sequence[bytes] = ()) -> st.SearchStrategy[bytes]:
    """Return a Hypothesis strategy of bytes that are one of the valid examples, or differ little from it."""

    def make(example: bytes, random: Random) -> bytes:
        return edited(random, example, words, valid) if random.randrange(8) else example

    return st.builds(make, st.sampled_from(list(valid)), st.randoms(use_true_random=False))


def near_text(valid: Sequence[str], words: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Return a Hypothesis strategy of texts that are one of the valid examples, or differ little from it."""
    made = near([text.encode() for text in valid], [word.encode() for word in words])
    return made.map(lambda data: data.decode(errors="replace"))


def _slice(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 1, 1, 2, 3, 4, 8, 16, 64)))


def _flip(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _set(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([random.choice((0, 1, 127, 128, 255, random.randrange(256)))]) + data[at + 1 :]


def _insert(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(_HARD) + data[at:]


def _word(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _slice(random, data)
    return data[:start] + random.choice(words or _HARD) + data[random.choice((start, stop)) :]


def _remove(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _slice(random, data)
    return data[:start] + data[stop:]


def _repeat(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _slice(random, data)
    count = min(random.choice((2, 2, 3, 10, 100, 1000)), 1 + LONGEST // (stop - start + 1))
    return data[:start] + data[start:stop] * count + data[stop:]


def _swap(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _slice(random, data)
    at = random.randrange(len(data) + 1)
    rest = data[:start] + data[stop:]
    return rest[:at] + data[start:stop] + rest[at:]


def _number(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    places = [match.span() for match in _NUMBER.finditer(data)]
    if not places:
        return data
    start, stop = random.choice(places)
    more = random.choice((20, 400, 5000))
    long = (
        b"9" * more,
        b"0" * more + data[start:stop],
        b"0" * 12 + b"1" * more,
        data[start:stop] + b"0" * more,
    )
    number = random.choice((*_NUMBERS, *long))
    return data[:start] + number + data[stop:]


def _splice(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    if not others:
        return data
    other = random.choice(others)
    start, stop = _slice(random, data)
    first = random.randrange(len(other) + 1)
    return data[:start] + other[first : first + random.choice((1, 4, 16, 64, 256))] + data[stop:]


def _cut(random: Random, data: bytes, words: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


_EDITS: tuple[Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes], ...] = (
    _flip, _set, _insert, _insert, _word, _word, _word, _remove, _remove, _repeat, _swap, _number, _number, _splice, _splice, _cut,
)  # fmt: skip
