"""Logs that a dead process or machine left: their blobs are there again before the store is used."""

import os
import shutil
import sys
import time
from asyncio.subprocess import PIPE, create_subprocess_exec
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from broker.blobs import short_log_recovery
from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobMissing, BlobStoreDown
from broker.blobs.file_systems import overwrites_in_place
from broker.blobs.short_log_notes import ShortLogNote, read_notes
from broker.blobs.short_log_records import BLOCK, LoggedBlob, SegmentHeader, header_block, new_generation
from broker.blobs.short_log_recovery import (
    ShortBlobsRestored,
    ShortLogDamaged,
    ShortLogRecordsMissing,
    restore_logs,
)
from broker.blobs.short_log_segment import FOLDER, LogFolderLock, ShortLogSegment
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from tests.broker.blobs.short_logs import MIB, left_log, left_mark, segment, short_blob

KILLED = """
import asyncio, os, sys
from pathlib import Path
from uuid import uuid4
from broker.blobs.store import BlobStore
from broker.blobs.blob_names import blob
from schemas.settings.storage import Storage

async def main(folder):
    store = BlobStore.open(Storage(path="blobs"), Path(folder))
    stored = 0

    async def write():
        nonlocal stored
        while True:
            place, data = blob("bucket", uuid4()), os.urandom(3000)
            await store.put_short(place, data)
            os.write(1, f"{place.name} {data.hex()}\\n".encode())  # one write: a line is whole, or not there
            logged = store._backend._small._log.is_in_use
            stored += logged
            if stored > 500:
                os.kill(os.getpid(), 9)  # while the others write

    await asyncio.gather(*(write() for _ in range(16)))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    seen: list[object] = []
    monkeypatch.setattr(short_log_recovery, "observe", seen.append)
    return seen


async def killed_in_the_middle(folder: Path) -> dict[str, bytes]:
    """Run a process that is killed while it writes; return the bytes of the blobs that were acknowledged."""
    process = await create_subprocess_exec(sys.executable, "-c", KILLED, str(folder), stdout=PIPE)
    out, _ = await process.communicate()
    assert process.returncode == -9
    lines = (line.split() for line in out.decode().splitlines())
    return {name: bytes.fromhex(data) for name, data in lines}


async def read_back(folder: Path, names: dict[str, bytes]) -> dict[str, bytes]:
    store = BlobStore.open(Storage(path="blobs"), folder)
    try:
        return {name: await store.get_small(BlobPath(name), limit=MIB) for name in names}
    finally:
        await store.close()


def need_a_log(folder: Path) -> None:
    if not overwrites_in_place(folder):
        pytest.skip("the folder of the tests is on a file system where no log is written")


async def test_a_killed_process_loses_no_blob(tmp_path: Path, observed: list[object]) -> None:
    need_a_log(tmp_path)
    stored = await killed_in_the_middle(tmp_path)
    assert list((tmp_path / "blobs" / FOLDER).glob("*.log"))

    assert await read_back(tmp_path, stored) == stored
    assert not list((tmp_path / "blobs" / FOLDER).glob("*.log"))
    assert observed
    assert not any(isinstance(item, ShortLogDamaged) for item in observed)


async def test_a_power_failure_loses_no_blob(tmp_path: Path, observed: list[object]) -> None:
    """What was written without a sync may be missing, empty, short or zeros after a power failure."""
    need_a_log(tmp_path)
    stored = await killed_in_the_middle(tmp_path)
    logged = set()
    for log in (tmp_path / "blobs" / FOLDER).glob("*.log"):
        content = log.read_bytes()
        logged |= {name for name in stored if name.encode() in content}
    assert len(logged) > 400
    harms = (
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:1000]),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
        lambda path: shutil.rmtree(path.parent, ignore_errors=True) if path.name.endswith("0") else None,
    )
    kept = {name: data for name, data in stored.items() if name in logged}
    for number, name in enumerate(sorted(logged)):
        path = tmp_path / "blobs" / name
        if path.exists():
            harms[number % len(harms)](path)

    assert await read_back(tmp_path, kept) == kept
    assert sum(item.written_again for item in observed if isinstance(item, ShortBlobsRestored)) > 100


async def test_the_log_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    blob, path = short_blob(), tmp_path / FOLDER / "x.log"
    living = ShortLogSegment.create(path, LogFolderLock(tmp_path / FOLDER), MIB)
    living.append([blob])

    restore_logs(tmp_path)
    assert path.exists()
    assert not (tmp_path / blob.place.name).exists()

    living.close()
    restore_logs(tmp_path)
    assert not path.exists()
    assert (tmp_path / blob.place.name).read_bytes() == blob.data


def test_of_several_that_open_the_folder_none_is_ready_before_all_blobs_are_there(tmp_path: Path) -> None:
    blobs = [short_blob() for _ in range(150)]
    for at in range(0, len(blobs), 50):
        left_log(tmp_path, segment(blobs[at : at + 20], blobs[at + 20 : at + 50]))

    def opened(_: int) -> list[LoggedBlob]:
        restore_logs(tmp_path)
        return [blob for blob in blobs if (tmp_path / blob.place.name).read_bytes() != blob.data]

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(opened, range(6))) == [[]] * 6
    assert not list((tmp_path / FOLDER).glob("*.log"))
    assert not list((tmp_path / "staging").iterdir())


def test_whole_files_are_not_written_again(tmp_path: Path, observed: list[object]) -> None:
    blob = short_blob()
    path = tmp_path / blob.place.name
    path.parent.mkdir(parents=True)
    path.write_bytes(blob.data)
    inode = path.stat().st_ino
    left_log(tmp_path, segment([blob]))

    restore_logs(tmp_path)

    assert path.stat().st_ino == inode
    assert observed == [ShortBlobsRestored(1, 0)]


def test_restored_files_and_folders_are_private(tmp_path: Path) -> None:
    blob = short_blob()
    left_log(tmp_path, segment([blob]))

    restore_logs(tmp_path)

    path = tmp_path / blob.place.name
    assert path.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in path.parents[:3]} == {0o700}


def test_damage_is_reported_and_the_rest_restored(tmp_path: Path, observed: list[object]) -> None:
    first, damaged, last = short_blob(), short_blob(), short_blob()
    content = bytearray(segment([first], [damaged], [last]))
    content[2 * BLOCK + 200] ^= 1
    left_log(tmp_path, bytes(content))

    restore_logs(tmp_path)

    there = [(tmp_path / blob.place.name).exists() for blob in (first, damaged, last)]
    assert there == [True, False, True]
    assert observed == [ShortLogDamaged(BLOCK), ShortLogRecordsMissing(1), ShortBlobsRestored(2, 2)]


@pytest.mark.parametrize("harm", ["cut", "zeros", "gone"])
def test_a_tail_that_was_acknowledged_and_lost_is_counted(
    tmp_path: Path, observed: list[object], harm: str
) -> None:
    """The disk confirmed the records and did not have them after its power failed."""
    (tmp_path / FOLDER).mkdir()
    path = tmp_path / FOLDER / "x.log"
    living = ShortLogSegment.create(path, LogFolderLock(tmp_path / FOLDER), MIB)
    groups = [[short_blob() for _ in range(count)] for count in (4, 2, 3)]
    for group in groups:
        living.append(group)
    living.close()
    kept = len(segment(groups[0])) - 64 * 1024
    match harm:
        case "cut":
            os.truncate(path, kept)
        case "zeros":
            content = path.read_bytes()
            path.write_bytes(content[:kept] + bytes(len(content) - kept))
        case "gone":
            path.unlink()

    restore_logs(tmp_path)

    missing = 9 if harm == "gone" else 5
    assert observed[0] == ShortLogRecordsMissing(missing)
    assert [(tmp_path / blob.place.name).exists() for blob in groups[0]] == [harm != "gone"] * 4
    (note,) = read_notes(tmp_path / FOLDER)
    assert (note.log, note.absent, note.is_compared) == ("x", missing, False)
    assert not list((tmp_path / FOLDER).glob("x.[lm]*"))


def test_a_log_that_was_closed_in_order_lacks_nothing(tmp_path: Path, observed: list[object]) -> None:
    """Its mark goes first: a process that is killed between the two has lost nothing."""
    content = segment([short_blob()])
    log = left_log(tmp_path, content)

    restore_logs(tmp_path)
    left_mark(log, 0, content)
    restore_logs(tmp_path)

    assert observed == [ShortBlobsRestored(1, 1)]
    assert read_notes(tmp_path / FOLDER) == [
        ShortLogNote(log.stem, 1_790_000_000.0, pytest.approx(time.time(), abs=600))
    ]
    assert not list((tmp_path / FOLDER).glob("*.mark"))


def test_a_copied_log_changes_its_own_folder_alone(tmp_path: Path) -> None:
    blob = short_blob()
    left_log(tmp_path / "one", segment([blob]))
    shutil.copytree(tmp_path / "one", tmp_path / "two")

    restore_logs(tmp_path / "two")

    assert not (tmp_path / "one" / blob.place.name).exists()
    assert (tmp_path / "two" / blob.place.name).read_bytes() == blob.data
    assert list((tmp_path / "one" / FOLDER).glob("*.log"))


async def test_a_log_that_cannot_be_replayed_is_reported_until_it_can(tmp_path: Path) -> None:
    blob = short_blob()
    log = left_log(tmp_path / "blobs", segment([blob]))
    (tmp_path / "blobs" / "objects").write_bytes(b"in the way")

    store = BlobStore.open(Storage(path="blobs"), tmp_path)
    with pytest.raises(BlobStoreDown):
        await store.check()
    assert log.exists()

    (tmp_path / "blobs" / "objects").unlink()
    await store.check()
    assert await store.get_small(blob.place, limit=MIB) == blob.data
    assert not log.exists()
    await store.close()


async def test_a_log_is_no_blob(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    lock = LogFolderLock(tmp_path / FOLDER)
    living = ShortLogSegment.create(tmp_path / FOLDER / f"{uuid4().hex}.log", lock, MIB)
    store = BlobStore.open(Storage(path="."), tmp_path)

    with pytest.raises((ValueError, BlobMissing)):
        await store.stat(BlobPath(f"{FOLDER}/{uuid4().hex}"))
    assert living.path.stat().st_mode & 0o777 == 0o600
    living.remove()
    await store.close()


def test_an_unfinished_log_is_removed(tmp_path: Path, observed: list[object]) -> None:
    paths = [
        left_log(tmp_path, content)
        for content in (b"", bytes(4 * BLOCK), header_block(SegmentHeader(new_generation())) + bytes(BLOCK))
    ]

    restore_logs(tmp_path)

    assert [path.exists() for path in paths] == [False] * 3
    assert observed == []
