"""A backup folder of somebody else: its links, pipes and names lead nowhere."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from workers.backup.blob_copies import load_blobs
from workers.backup.manifest import BackupBlob, BackupError, read_index, read_manifest

SECRET = b"a secret of the machine"
BLOB = "objects/bucket-0123456789abcdef/11/11111111-1111-4111-8111-111111111111"


def _described(content: bytes) -> dict[str, object]:
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the backup, whose content the attacker knows."""
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A backup with a manifest, without anything else."""
    folder = tmp_path / "backup"
    (folder / "blobs" / BLOB).parent.mkdir(parents=True)
    return folder


def _write_manifest(folder: Path, files: dict[str, object]) -> None:
    manifest = {
        "format": 1, "made_at": "", "headwater": "1", "server_version": 170000, "migrations": {}, "files": files,
        "blobs": 0, "blob_bytes": 0,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "link", "folder/secret", "pipe", "blobs"])
def test_a_manifest_names_files_of_the_backup_alone(folder: Path, outside: Path, name: str) -> None:
    (folder / "link").symlink_to(outside)
    (folder / "folder").symlink_to(outside.parent)
    os.mkfifo(folder / "pipe")
    _write_manifest(folder, {name: _described(SECRET)})

    with pytest.raises(BackupError, match="no file of the backup"):
        read_manifest(folder)


@pytest.mark.parametrize("name", ["manifest.json", "blobs.jsonl"])
def test_lists_are_files(folder: Path, outside: Path, name: str) -> None:
    (folder / name).symlink_to(outside)

    with pytest.raises(BackupError, match="no file of the backup"):
        read_manifest(folder) if name == "manifest.json" else read_index(folder)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder of another place"])
async def test_the_bytes_of_a_blob_are_in_the_backup(
    folder: Path, outside: Path, tmp_path: Path, kind: str
) -> None:
    place = folder / "blobs" / BLOB
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.parent.rmdir()
        place.parent.symlink_to(tmp_path)
        (tmp_path / place.name).write_bytes(SECRET)
    store = BlobStore.open(Storage(path=str(tmp_path / "store")), tmp_path)
    blob = BackupBlob(BLOB, len(SECRET), hashlib.sha256(SECRET).hexdigest())

    with pytest.raises(BackupError, match="no file of the backup"):
        await load_blobs(store, [blob], folder, lambda _: None)
    await store.close()


@pytest.mark.parametrize(
    "name", ["../secret", "objects/../../secret", "/etc/passwd", "other/x", "objects/a.b/c"]
)
async def test_a_blob_has_the_name_of_one(folder: Path, tmp_path: Path, name: str) -> None:
    store = BlobStore.open(Storage(path=str(tmp_path / "store")), tmp_path)

    with pytest.raises(BackupError, match="not the name of a blob"):
        await load_blobs(store, [BackupBlob(name, 1, "")], folder, lambda _: None)
    await store.close()
