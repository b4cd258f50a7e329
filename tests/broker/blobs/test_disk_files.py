"""Reading without waiting, and writing that begins before the end."""

import os
from io import FileIO
from pathlib import Path

import pytest

from broker.blobs import disk_files
from broker.blobs.blob_names import BlobPath
from broker.blobs.disk_files import AppendedFile, NewFile, cached_bytes


async def run(function, *args, **kwargs):  # type: ignore[no-untyped-def]  # as the store's threads, in this one
    return function(*args, **kwargs)


def refuse(path: Path) -> None:
    raise AssertionError(f"{path.parent} is there")


def keep(place: BlobPath) -> Path:
    raise AssertionError(f"{place} was not asked for")


def test_what_the_kernel_has_is_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")

    with FileIO(tmp_path / "a") as file:
        found = [cached_bytes(file, 4, 3), cached_bytes(file, 100, 8), cached_bytes(file, 5, 10)]

    assert found in ([b"3456", b"89", b""], [b""] * 3)  # a file system, or a system, that cannot


def test_what_cannot_be_read_without_waiting_is_left_to_the_usual_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")

    def waits(*_: object) -> int:
        raise BlockingIOError

    with FileIO(tmp_path / "a") as file:
        monkeypatch.setattr(os, "preadv", waits)
        busy = cached_bytes(file, 4, 0)
        monkeypatch.setattr(disk_files, "_NO_WAIT", None)
        unknown = cached_bytes(file, 4, 0)

    assert (busy, unknown) == (b"", b"")


@pytest.mark.parametrize("kind", ["new", "appended"])
async def test_the_disk_begins_to_write_each_stretch_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    begun: list[tuple[int, int]] = []
    monkeypatch.setattr(disk_files, "_STRETCH", 10)
    monkeypatch.setattr(disk_files, "start_writeback", lambda _, at, size: begun.append((at, size)))
    path = tmp_path / "a"
    file = NewFile(path, run, refuse, keep, keep) if kind == "new" else AppendedFile(path, 0, run, refuse)

    for _ in range(8):
        await file.write([b"wo", b"rds"])
    await file.finish([b"e", b"nd"])

    assert begun == [(0, 10), (10, 10), (20, 10), (30, 10)]
    assert path.read_bytes() == b"words" * 8 + b"end"
