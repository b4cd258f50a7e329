"""Sealed files: what goes in comes out, and whatever was changed is detected."""

import os
from collections.abc import Callable, Sequence

import pytest

from broker.archive.sealing import FileOpener, FileSealer, SealBroken, seal

KEY, OTHER = os.urandom(32), os.urandom(32)
_HEADER = 48


def unseal(name: str, keys: Sequence[bytes], data: bytes) -> bytes:
    opener = FileOpener(name, keys)
    content = opener.feed(data)
    opener.finish()
    return content


@pytest.mark.parametrize("size", [0, 1, 1000, 1024 * 1024, 3 * 1024 * 1024 + 7])
def test_content_comes_back_from_pieces_of_any_size(size: int) -> None:
    content = os.urandom(size)
    sealer, opener = FileSealer("a/b", KEY), FileOpener("a/b", [KEY])

    sealed = b"".join(
        [*(sealer.feed(content[at : at + 70_000]) for at in range(0, size, 70_000)), sealer.finish()]
    )
    opened = b"".join(opener.feed(sealed[at : at + 4099]) for at in range(0, len(sealed), 4099))
    opener.finish()

    assert opened == content


def test_content_is_compressed_and_not_readable() -> None:
    sealed = seal("a", KEY, b"the same words again and again " * 10_000)

    assert len(sealed) < 2000
    assert b"same words" not in sealed


@pytest.mark.parametrize("at", [0, 9, 20, _HEADER, _HEADER + 3, _HEADER + 4, 2000, -1])
def test_a_changed_byte_is_detected(at: int) -> None:
    sealed = bytearray(seal("a", KEY, os.urandom(3 * 1024 * 1024)))
    sealed[at] ^= 1

    with pytest.raises(SealBroken, match=r"damaged|not among"):
        unseal("a", [KEY], bytes(sealed))


def _frames(sealed: bytes) -> list[bytes]:
    frames, at = [], _HEADER
    while at < len(sealed):
        size = 4 + (int.from_bytes(sealed[at : at + 4]) & 0x7FFFFFFF)
        frames.append(sealed[at : at + size])
        at += size
    return frames


@pytest.mark.parametrize(
    "change",
    [
        lambda frames: frames[:-1],
        lambda frames: frames[1:],
        lambda frames: [frames[1], frames[0], *frames[2:]],
        lambda frames: [frames[0], *frames],
        lambda frames: [*frames, frames[-1]],
        lambda frames: [],
    ],
    ids=["cut off", "without its beginning", "exchanged", "repeated", "continued", "empty"],
)
def test_frames_cannot_be_left_out_exchanged_or_repeated(
    change: Callable[[list[bytes]], list[bytes]],
) -> None:
    sealed = seal("a", KEY, os.urandom(3 * 1024 * 1024))
    frames = _frames(sealed)
    assert len(frames) > 2

    with pytest.raises(SealBroken, match="damaged"):
        unseal("a", [KEY], sealed[:_HEADER] + b"".join(change(frames)))


def test_a_file_under_another_name_is_detected() -> None:
    with pytest.raises(SealBroken, match="name of another file"):
        unseal("wal/2", [KEY], seal("wal/1", KEY, b"content"))


def test_another_key_is_named_and_an_old_key_still_opens() -> None:
    sealed = seal("a", OTHER, b"content")

    with pytest.raises(SealBroken, match=r"not among backup\.key"):
        unseal("a", [KEY], sealed)
    assert unseal("a", [KEY, OTHER], sealed) == b"content"


def test_the_same_content_is_never_sealed_alike() -> None:
    assert seal("a", KEY, b"content") != seal("a", KEY, b"content")
