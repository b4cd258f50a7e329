"""What lies in a backup, and whether it is whole.

manifest.json     written last: a folder without it is no backup
database.dump     pg_dump's custom format, of everything in the database
roles.sql         the project's own roles, without their passwords
blobs.jsonl       one line a blob: name, size, SHA-256
blobs/<name>      the bytes, under the names that they have in the store (broker/blobs_names.py)
"""

import hashlib
from pathlib import Path

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
_CHUNK = 1024 * 1024


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


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, which makes the folder a backup. Raises: OSError."""
    draft = folder / f".{MANIFEST}"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    draft.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> Manifest:
    """Read a backup and make sure that it is whole. Raises: BackupError."""
    try:
        found = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise BackupError(
            f"{folder} is no backup, or one that was not finished: it has no {MANIFEST}."
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
