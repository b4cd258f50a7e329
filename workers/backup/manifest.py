"""The files of a backup, and the check that it is complete.

UNFINISHED.txt    exists until everything else is on disk: a folder with this file and no manifest can be used again
manifest.json     written last: a folder without it is not a backup
database.dump     pg_dump's custom format, of everything in the database
roles.sql         the project's own roles, without their passwords
blobs.jsonl       one line a blob: name, size, SHA-256
blobs/<name>      the bytes, under their names in the store (broker/blobs/blob_names.py)
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct, field

FORMAT = 1
MANIFEST, DATABASE, ROLES, INDEX, BLOBS = (
    "manifest.json",
    "database.dump",
    "roles.sql",
    "blobs.jsonl",
    "blobs",
)
UNFINISHED = "UNFINISHED.txt"
_CHUNK = 1024 * 1024
_UNFINISHED = (
    "This backup is being made, or was interrupted: it is not whole and cannot be restored.\n"
    "`headwater backup` with the name of this folder makes it anew.\n"
)


class BackupError(Exception):
    """A backup cannot be made, read or restored: why, and what to do, in one sentence."""


class BackupFile(Struct, frozen=True):
    """A file of the backup."""

    size: int
    sha256: str


class BackupBlob(Struct, frozen=True):
    """A line of the index."""

    name: str
    size: int
    sha256: str


class BackupSetting(Struct, frozen=True):
    """A setting that the database has, for all roles or for one."""

    role: str
    name: str
    value: str


class DatabaseRight(Struct, frozen=True):
    """A right on the database itself; role "" is PUBLIC."""

    role: str
    privilege: str
    may_grant: bool


class BackupContents(Struct, frozen=True):
    """What the saved database had: its size in bytes on the disk, tables of the schema public, users."""

    bytes: int
    tables: int
    users: int


class BackupManifest(Struct, frozen=True):
    """The content of manifest.json."""

    format: int
    made_at: str
    headwater: str
    server_version: int
    """As in 180006."""
    migrations: dict[str, int]
    """The last migration of each of the platform's series."""
    files: dict[str, BackupFile]
    blobs: int
    blob_bytes: int
    owner: str = ""
    settings: list[BackupSetting] = field(default_factory=list)
    role_settings: list[BackupSetting] = field(default_factory=list)
    """Those of the project's own roles, in all databases."""
    rights: list[DatabaseRight] = field(default_factory=list)
    contents: BackupContents | None = None
    """None in backups of older versions."""


def describe_file(path: Path) -> BackupFile:
    """Return size and checksum of a file. Raises: OSError."""
    hashed, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
            size += len(chunk)
    return BackupFile(size, hashed.hexdigest())


def begin_backup(folder: Path) -> None:
    """Mark a folder as an unfinished backup. Raises: OSError."""
    write_safely(folder / UNFINISHED, _UNFINISHED.encode())
    _sync_folder(folder)


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest, which completes the backup; everything else must be on disk. Raises: OSError."""
    draft = folder / f".{MANIFEST}"
    write_safely(draft, msgspec.json.format(msgspec.json.encode(manifest)))
    draft.replace(folder / MANIFEST)
    _sync_folder(folder)
    (folder / UNFINISHED).unlink(missing_ok=True)


def write_safely(path: Path, content: bytes) -> None:
    """Write a file and flush it to disk. Raises: OSError."""
    with path.open("wb") as file:
        file.write(content)
        close_safely(file)


def close_safely(file: BinaryIO) -> None:
    """Flush a written file to disk and close it. Raises: OSError."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_of(folder: Path, name: str) -> Path:
    """Return the path of a file of a backup, which may be from elsewhere. Raises: BackupError if it is no file, or lies outside.

    A link of a hostile backup would name any file of this machine, and a pipe would never end.
    """
    path = folder / name
    if not path.exists():
        raise BackupError(f"{path} cannot be read: it is missing.")
    if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        raise BackupError(
            f"{path} is no file of the backup: copy the backup with the files that its links name."
        )
    return path


def read_manifest(folder: Path) -> BackupManifest:
    """Read the manifest and check that the backup's files are complete. Raises: BackupError."""
    if not (folder / MANIFEST).exists():
        raise BackupError(
            f"{folder} is no backup, or one that was interrupted: it has no {MANIFEST}. Nothing was changed."
        )
    try:
        manifest = msgspec.json.decode(file_of(folder, MANIFEST).read_bytes(), type=BackupManifest)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BackupError(f"{folder / MANIFEST} cannot be read: {error}") from None
    if manifest.format != FORMAT:
        raise BackupError(
            f"The backup has format {manifest.format}, this headwater reads {FORMAT}: use the version {manifest.headwater}."
        )
    for name, expected in manifest.files.items():
        try:
            actual = describe_file(file_of(folder, name))
        except OSError as error:
            raise BackupError(f"{folder / name} cannot be read: {error.strerror}") from None
        if actual != expected:
            raise BackupError(f"{folder / name} is not what was written: the backup is damaged.")
    return manifest


def read_index(folder: Path) -> list[BackupBlob]:
    """Return the blobs of a backup. Raises: BackupError."""
    try:
        return msgspec.json.Decoder(BackupBlob).decode_lines(file_of(folder, INDEX).read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BackupError(f"{folder / INDEX} cannot be read: {error}") from None
