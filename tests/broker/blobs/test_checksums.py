"""Checksums of a whole from those of its parts agree with those of all bytes."""

import base64
import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.blobs.checksums import (
    CHECKSUM_KINDS,
    CRC_KINDS,
    composite_checksum,
    full_checksum,
    is_digest,
)


def checksum(kind: str, data: bytes) -> str:
    running = CHECKSUM_KINDS[kind]()
    running.update(data)
    return base64.b64encode(running.digest()).decode()


@pytest.mark.parametrize("kind", sorted(CRC_KINDS))
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_a_crc_of_all_bytes_follows_from_the_parts(kind: str, parts: list[bytes]) -> None:
    sums = [(checksum(kind, part), len(part)) for part in parts]

    assert full_checksum(kind, sums) == checksum(kind, b"".join(parts))


def test_a_composite_checksum_is_the_hash_of_the_digests() -> None:
    parts = [b"a", b"bc"]
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)

    value = composite_checksum("sha256", [checksum("sha256", part) for part in parts])

    assert value == base64.b64encode(hashlib.sha256(digests).digest()).decode() + "-2"


@pytest.mark.parametrize("kind", sorted(CHECKSUM_KINDS))
@given(data=st.binary(max_size=100), cuts=st.lists(st.integers(0, 100), max_size=3))
def test_pieces_have_the_checksum_of_the_whole(kind: str, data: bytes, cuts: list[int]) -> None:
    running = CHECKSUM_KINDS[kind]()
    for start, stop in pairwise(sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})):
        running.update(data[start:stop])

    assert base64.b64encode(running.digest()).decode() == checksum(kind, data)


@pytest.mark.parametrize("text", ["", "AAAA", "no base64!", "AAAAAAA"])
def test_what_is_no_digest_is_told(text: str) -> None:
    assert not is_digest(text, "crc32")
    assert is_digest("AAAAAA==", "crc32")
