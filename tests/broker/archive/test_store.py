"""Both kinds of stores behave alike."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from broker.archive.store import (
    ArchiveFileMissing,
    ArchiveStore,
    ArchiveStoreDown,
    open_archive_store,
    read_whole,
)
from schemas.settings.backup import Backup
from schemas.settings.tree import SettingsError
from tests.broker.s3_server import running_s3

MIB = 1024 * 1024


@pytest.fixture(scope="module", params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveStore]:
    if request.param == "file":
        yield open_archive_store(Backup(path=str(tmp_path_factory.mktemp("archive") / "new")))
        return
    with running_s3() as s3:
        yield open_archive_store(Backup(backend="s3", s3=s3.settings(prefix="below").s3))


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _names(store: ArchiveStore, folder: str) -> list[str]:
    return [file.name for file in await store.list_files(folder)]


async def test_a_file_is_stored_read_replaced_and_deleted(store: ArchiveStore) -> None:
    assert await _names(store, "a") == []
    await store.put("a/wal/1", b"one")
    await store.put("a/wal/2", b"two!")
    await store.put("a/wal/1", b"another")

    assert await read_whole(store, "a/wal/1") == b"another"
    assert await store.list_files("a") == [("a/wal/1", 7), ("a/wal/2", 4)]
    assert await _names(store, "a/wa") == []
    await store.delete(["a/wal/1", "a/wal/none"])
    assert await _names(store, "a") == ["a/wal/2"]


async def test_a_stream_is_stored_whole(store: ArchiveStore) -> None:
    parts = [bytes([number]) * (9 * MIB) for number in range(4)]

    await store.put_stream("b/base/content", _pieces(*parts))

    assert await read_whole(store, "b/base/content") == b"".join(parts)


async def test_a_stream_that_breaks_leaves_no_file(store: ArchiveStore) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield bytes(20 * MIB)
        raise RuntimeError("the server is gone")

    with pytest.raises(Exception, match="the server is gone"):
        await store.put_stream("c/base/content", broken())

    assert await _names(store, "c") == []


async def test_a_missing_file_is_named(store: ArchiveStore) -> None:
    with pytest.raises(ArchiveFileMissing, match="d/none"):
        await read_whole(store, "d/none")


async def test_a_store_that_is_away_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = open_archive_store(Backup(path=str(tmp_path / "file")))

    with pytest.raises(ArchiveStoreDown, match="file"):
        await store.put("a", b"x")


def test_a_store_without_a_place_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"backup\.path"):
        open_archive_store(Backup())
