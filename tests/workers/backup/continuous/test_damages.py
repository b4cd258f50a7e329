"""Any one file of an archive is deleted or changed: `--verify` names it, or the restore is equal byte for byte."""

import asyncio
import contextlib
import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.archive.folder_store import FolderStore
from broker.archive.model import StoredFile
from broker.archive.sealing import SealBroken, key_id
from broker.archive.store import ArchiveFileMissing, open_archive_store
from broker.blobs.store import BlobStore
from schemas.settings.backup import Backup
from schemas.settings.storage import Storage
from workers.backup.continuous import inventory
from workers.backup.continuous.archive import (
    Archive,
    ArchiveInfo,
    BaseInfo,
    CoveredMoment,
    MigrationMark,
    MigrationMarks,
    piece_name,
)
from workers.backup.continuous.copy_lists import CopyLists
from workers.backup.continuous.inspection import inspect
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.object_restore import restore_functions
from workers.backup.continuous.recovery_files import fetch_files
from workers.backup.continuous.recovery_plan import plan_recovery
from workers.database.sessions.replication import lsn_text

KEYS = [bytes(range(32))]
ID = "headwater_archive_0123456789ab"
BEGAN, NOW = 1_795_000_000.0, 1_795_009_000.0
SEGMENT = 1024 * 1024
_DAMAGES = ["delete", "flip", "cut", "exchange", "append"]
_BASES = (1, 3)
_FILES = {"PG_VERSION": b"18\n", "base/1/2": b"rows of a table" * 500, "global/pg_control": b"\x00\x01" * 300}
_PIECE = 1000
_COPIES = {
    "objects/bucket-pictures/11/11111111-1111-4111-8111-111111111111": b"bytes of an object",
    "functions/1795000000000/functions/echo": b"bytes of a function",
}


def _tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in _FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _manifest() -> bytes:
    files = [
        {"Path": name, "Size": len(content), "Checksum": hashlib.sha256(content).hexdigest()}
        for name, content in _FILES.items()
    ]
    return json.dumps({"Files": files}).encode()


async def _write_archive(folder: Path) -> None:
    archive = Archive(open_archive_store(Backup(path=str(folder))), KEYS, ID)
    await inventory.note(archive)
    await archive.write_struct("info", ArchiveInfo("42", 1, SEGMENT, 180006, BEGAN, has_inventory=True))
    await archive.write("history", b"1\t0/3000000\tno recovery target specified\n")
    for number in range(6):
        name = piece_name(number * _PIECE, (number + 1) * _PIECE, BEGAN + number * 600)
        await archive.write(name, bytes([number + 1]) * _PIECE)
    for number in _BASES:
        base, start = f"base{number}", number * _PIECE + 100
        at = BEGAN + number * 600
        await archive.write(f"base/{base}/content", _tar())
        await archive.write(f"base/{base}/manifest", _manifest())
        info = BaseInfo(base, start, start + 50, at, at + 9, 5000, len(_FILES), "1")
        await archive.write_struct(f"base/{base}/info", info)
    await archive.write_struct(
        "migrations", MigrationMarks([MigrationMark("1", "add", "777", 1500, BEGAN + 700)])
    )
    await archive.write_struct("covered", CoveredMoment(6 * _PIECE, BEGAN + 4000))
    for name, content in _COPIES.items():
        await archive.write(name, content)
    await inventory.note_existing(archive)
    await CopyLists(archive).add(_COPIES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive") / "whole"
    asyncio.run(_write_archive(folder))
    assert _faults(folder) == ""
    return folder, sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _faults(folder: Path) -> str:
    """Return what `--verify` prints with exit code 2; empty with exit code 0 (services/cli/backup.py)."""
    store = open_archive_store(Backup(path=str(folder)))
    try:
        listed = asyncio.run(inspect(store, KEYS, verify=True, report=lambda _: None))
    except SealBroken as error:
        return str(error)
    assert listed, "nothing is listed, so the exit code is 0"
    return "\n".join(fault for archive in listed if not archive.is_new for fault in archive.faults)


def _restored(folder: Path) -> tuple[object, dict[str, bytes]]:
    """Return the plan of a restore to the latest moment, and the files that it writes."""

    async def restore(target: Path) -> object:
        store = open_archive_store(Backup(path=str(folder)))
        files = await plan_recovery(store, KEYS, "latest", "", NOW)
        await fetch_files(files, target, lambda _: None)
        return files.plan.until, files.plan.migrations_after, files.content.first, files.content.marks

    with tempfile.TemporaryDirectory() as made:
        target = Path(made)
        facts = asyncio.run(restore(target))
        return facts, {
            str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()
        }


def _damage(folder: Path, name: Path, how: str, at: int) -> None:
    path = folder / name
    content = bytearray(path.read_bytes())
    if how == "delete":
        path.unlink()
    elif how == "exchange":  # the content of another file of the archive
        others = sorted(other for other in folder.rglob("*") if other.is_file() and other != path)
        path.write_bytes(others[at % len(others)].read_bytes())
    elif how == "append":
        path.write_bytes(content + content[: 1 + at % len(content)])
    elif how == "flip":
        content[at % len(content)] ^= 0xFF
        path.write_bytes(content)
    else:
        path.write_bytes(content[: at % len(content)])


@settings(max_examples=60)
@given(number=st.integers(0, 10**6), how=st.sampled_from(_DAMAGES), at=st.integers(0, 10**6))
def test_a_damage_of_any_one_file_is_named_or_the_restore_is_equal(whole, number, how, at):
    original, names = whole
    name = names[number % len(names)]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "archive"
        shutil.copytree(original, folder)
        _damage(folder, name, how, at)

        faults = _faults(folder)

        if not faults:
            try:
                assert _restored(folder) == _restored(original)
            except (SealBroken, ArchiveFileMissing) as error:
                pytest.fail(f"{how} {name}: it verifies, and a restore says: {error}")
        elif name.parts[1] == "wal":  # a piece that is gone is named by its positions
            end = lsn_text(int(name.name.split("-")[1], 16))
            assert str(name) in faults or end in faults, faults
        else:
            shown = name.parent.name if name.parts[1] == "base" else str(name)
            assert shown in faults, faults


_HOSTILE_NAMES = [
    "wal/0000000000000000-FFFFFFFFFFFFFFFF-9999999999999999",
    "wal/0000000000001770-0000000000001F40-99999999999999",
    "wal/0000000000001770-0000000000001771-0",
    "wal/../../../../outside",
    "base/../../outside/info",
    "base/base9/info",
    "objects/../../../outside",
    "functions/9999999999999999/functions/../../outside",
    "functions/\u00b2/functions/echo",
    "functions/1/functions/active",
    "copies/999999999999",
]


class HostileStore(FolderStore):
    """Lists what is not there, and sends it without an end."""

    sent = 0

    async def list_files(self, folder: str) -> list[StoredFile]:
        hostile = [f"{ID}/{name}" for name in _HOSTILE_NAMES]
        names = [
            name
            for name in [*hostile, "archives/../x", "archives/headwater_archive_0"]
            if name.startswith(folder)
        ]
        return sorted([*await super().list_files(folder), *(StoredFile(name, -1) for name in names)])

    async def read(self, name: str) -> AsyncIterator[bytes]:
        if ".." not in name and not name.endswith(tuple(_HOSTILE_NAMES)):
            async for piece in super().read(name):
                yield piece
            return
        while True:
            self.sent += 1
            assert self.sent < 100, "it is read without an end"
            yield b"HWARCH1\n" + key_id(KEYS[0]) + bytes(1024 * 1024)


@pytest.mark.parametrize("hides", [False, True])
async def test_a_hostile_store_names_and_sends_what_it_likes_and_nothing_is_written_elsewhere(
    whole, tmp_path, hides
):
    folder, target = tmp_path / "archive", tmp_path / "in" / "target"
    shutil.copytree(whole[0], folder)
    target.mkdir(parents=True)
    if hides:
        shutil.rmtree(folder / ID / "wal")
    store, blobs = HostileStore(folder), BlobStore.open(Storage(path=str(tmp_path / "blobs")), tmp_path)
    refusals = (SealBroken, ArchiveFileMissing, MomentRejected)
    with contextlib.suppress(*refusals):
        await inspect(store, KEYS, verify=True, report=lambda _: None)
    for moment in ("latest", "before migration 1", "lsn 0/1500", "transaction 777"):
        with contextlib.suppress(*refusals):
            files = await plan_recovery(store, KEYS, moment, "", NOW)
            await fetch_files(files, target, lambda _: None)
    with contextlib.suppress(*refusals):
        await restore_functions(Archive(store, KEYS, ID), blobs, NOW)
    await blobs.close()

    assert store.sent > 0
    assert {path.name for path in tmp_path.iterdir()} <= {"archive", "in", "blobs"}
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["target"]


@pytest.mark.parametrize("lost", ["info", "covered", "migrations", "base"])
def test_archives_of_earlier_versions_get_an_inventory_when_they_are_continued(whole, tmp_path, lost):
    """Without one, the info of the only base backup and the file of the archive itself are missed all the same."""
    folder = tmp_path / "archive"
    shutil.copytree(whole[0], folder)
    archive = Archive(open_archive_store(Backup(path=str(folder))), KEYS, ID)
    (folder / ID / "inventory").unlink()
    asyncio.run(archive.write_struct("info", ArchiveInfo("42", 1, SEGMENT, 180006, BEGAN)))
    assert _faults(folder) == ""
    if lost in ("covered", "migrations"):
        asyncio.run(inventory.note_existing(archive))
        (folder / ID / lost).unlink()
    elif lost == "info":
        (folder / "archives" / ID).unlink()
    else:
        for number in _BASES:
            (folder / ID / "base" / f"base{number}" / "info").unlink()

    assert "is missing" in _faults(folder)
