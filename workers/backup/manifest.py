"""What lies in a backup, and whether it is whole.

UNFINISHED.txt    there from the beginning until all else is on the disk: a folder with it alone may be made anew
manifest.json     written last: a folder without it is no backup
database.dump     pg_dump's custom format, of everything in the database
roles.sql         the project's own roles, without their passwords
blobs.jsonl       one line a blob: name, size, SHA-256
blobs/<name>      the bytes, under the names that they have in the store (broker/blobs/blob_names.py)
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


class File(Struct, frozen=True):
    """A file of the backup."""

    size: int
    sha256: str


class Blob(Struct, frozen=True):
    """A line of the index."""

    name: str
    size: int
    sha256: str


class Setting(Struct, frozen=True):
    """A setting that the database has, for all roles or for one."""

    role: str
    name: str
    value: str


class Right(Struct, frozen=True):
    """A right on the database itself; no role is everybody."""

    role: str
    privilege: str
    may_grant: bool


class Manifest(Struct, frozen=True):
    """What the backup says of itself."""

    format: int
    made_at: str
    headwater: str
    server_version: int
    """As in 180006."""
    migrations: dict[str, int]
    """The last migration of each of the platform's series."""
    files: dict[str, File]
    blobs: int
    blob_bytes: int
    owner: str = ""
    settings: list[Setting] = field(default_factory=list)
    role_settings: list[Setting] = field(default_factory=list)
    """Those of the project's own roles, in all databases."""
    rights: list[Right] = field(default_factory=list)


def file_of(path: Path) -> File:
    """Give size and checksum of a file. Raises: OSError."""
    hashed, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
            size += len(chunk)
    return File(size, hashed.hexdigest())


def begin_backup(folder: Path) -> None:
    """Mark a folder as a backup that is being made. Raises: OSError."""
    write_safely(folder / UNFINISHED, _UNFINISHED.encode())
    _sync_folder(folder)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, which makes the folder a backup, once all else is on the disk. Raises: OSError."""
    draft = folder / f".{MANIFEST}"
    write_safely(draft, msgspec.json.format(msgspec.json.encode(manifest)))
    draft.replace(folder / MANIFEST)
    _sync_folder(folder)
    (folder / UNFINISHED).unlink(missing_ok=True)


def write_safely(path: Path, content: bytes) -> None:
    """Write a file and wait until the disk has it. Raises: OSError."""
    with path.open("wb") as file:
        file.write(content)
        close_safely(file)


def close_safely(file: BinaryIO) -> None:
    """Close a file that was written, once the disk has its bytes. Raises: OSError."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _sync_folder(folder: Path) -> None:
    """Wait until the disk has the names of a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(folder: Path) -> Manifest:
    """Read a backup and make sure that it is whole. Raises: BackupError."""
    try:
        found = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise BackupError(
            f"{folder} is no backup, or one that was interrupted: it has no {MANIFEST}. Nothing was changed."
        ) from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BackupError(f"{folder / MANIFEST} cannot be read: {error}") from None
    if found.format != FORMAT:
        raise BackupError(
            f"The backup has format {found.format}, this headwater reads {FORMAT}: use the version {found.headwater}."
        )
    for name, expected in found.files.items():
        try:
            there = file_of(folder / name)
        except OSError as error:
            raise BackupError(f"{folder / name} cannot be read: {error.strerror}") from None
        if there != expected:
            raise BackupError(f"{folder / name} is not what was written: the backup is damaged.")
    return found


def read_index(folder: Path) -> list[Blob]:
    """Give the blobs of a backup. Raises: BackupError."""
    try:
        return msgspec.json.Decoder(Blob).decode_lines((folder / INDEX).read_bytes())
    except (OSError, msgspec.MsgspecError) as error:
        raise BackupError(f"{folder / INDEX} cannot be read: {error}") from None
