"""Build the path of every blob in the store, from version ids only (pure).

    objects/<bucket>/<2 hex>/<version>          an object; immutable, each write has a version of its own
    staging/<id>                                a blob that is being written (on disk only, where a rename is cheap)
    uploads/<upload>/appended                   an unfinished resumable upload, on disk;
                    /at-<offset>-<writer>       in other stores, in pieces
                    /part-<number>-<writer>     a part of a multipart upload, written by one attempt
    transforms/<2 hex>/<version>/<hash>         an image rendered from a version
    functions/<function>/<number>-<sha256>      a deployed version of a function, as it was received
                        /active                 the number of the version that is run
    functions/secrets/<hash>                    a secret of functions, encrypted

So a move or rename of an object only updates its row. User input never becomes a path: a bucket's folder is named by
a few plain characters of its id and a hash of the whole id, ids are parsed as UUIDs and formatted again, and other
keys are hashed.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

_NAME = re.compile(r"(?:objects|staging|uploads|transforms|functions)(?:/[a-z0-9_-]+){1,3}", re.ASCII)
_FOLDER = re.compile(r"(?:objects|staging|uploads|transforms|functions)(?:/[a-z0-9_-]+){0,2}", re.ASCII)
_AT = re.compile(r"at-(\d{20})-[0-9a-f]{32}", re.ASCII)
_READABLE = re.compile(r"[^a-z0-9_]+", re.ASCII)
_LONGEST_READABLE, _HASH, _KEY_HASH = 32, 16, 40
_MOST_PARTS = 10_000

Id = UUID | str
"""The id of a version or an upload. A text must be a UUID, otherwise ValueError is raised."""


@dataclass(frozen=True, slots=True, order=True)
class BlobPath:
    """The path of one blob. It contains neither a dot nor a leading slash, so it cannot point outside the store."""

    name: str

    def __post_init__(self) -> None:
        """Reject any other text. Raises: ValueError."""
        if not _NAME.fullmatch(self.name):
            raise ValueError("not the name of a blob")

    @property
    def version(self) -> UUID | None:
        """Return the version or upload that the blob belongs to; None for a blob that is being written."""
        kind, *rest = self.name.split("/")
        return {
            "objects": _uuid_at(rest, 2),
            "uploads": _uuid_at(rest, 0),
            "transforms": _uuid_at(rest, 1),
        }.get(kind)

    @property
    def offset(self) -> int | None:
        """Return the offset of a piece of a resumable upload; None for other blobs."""
        match = _AT.fullmatch(self.name.rpartition("/")[2])
        return int(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class BlobFolder:
    """The common prefix of a group of blobs, without the last slash."""

    name: str

    def __post_init__(self) -> None:
        """Reject any other text. Raises: ValueError."""
        if not _FOLDER.fullmatch(self.name):
            raise ValueError("not the name of a folder of blobs")


OBJECTS = BlobFolder("objects")
"""All objects of all buckets."""
STAGING = BlobFolder("staging")
"""Blobs that are being written, or whose writer died."""
UPLOADS = BlobFolder("uploads")
"""Unfinished resumable and multipart uploads."""
TRANSFORMS = BlobFolder("transforms")
"""Images rendered from objects: a cache."""
FUNCTIONS = BlobFolder("functions")
"""Deployed functions and their secrets."""
FUNCTION_SECRETS = BlobFolder("functions/secrets")


def blob(bucket_id: str, version: Id) -> BlobPath:
    """Return the path of a version of an object."""
    text = _uuid_text(version)
    return BlobPath(f"{bucket(bucket_id).name}/{text[:2]}/{text}")


@lru_cache(1024)
def bucket(bucket_id: str) -> BlobFolder:
    """Return the folder of a bucket: some characters of its id, for operators, and a hash of the id."""
    text = bucket_id.encode(errors="surrogatepass")
    readable = _READABLE.sub("_", bucket_id.lower())[:_LONGEST_READABLE].strip("_")
    return BlobFolder(f"objects/{readable or 'bucket'}-{hashlib.sha256(text).hexdigest()[:_HASH]}")


def transform(version: Id, key: str) -> BlobPath:
    """Return the path of an image rendered from a version; `key` describes the transformation."""
    hashed = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:_KEY_HASH]
    return BlobPath(f"{transforms(version).name}/{hashed}")


def transforms(version: Id) -> BlobFolder:
    """Return the folder of all images rendered from a version."""
    text = _uuid_text(version)
    return BlobFolder(f"transforms/{text[:2]}/{text}")


def upload(id: Id) -> BlobFolder:
    """Return the folder of an unfinished upload."""
    return BlobFolder(f"uploads/{_uuid_text(id)}")


def part(id: Id, number: int, writer: Id | None = None) -> BlobPath:
    """Return the path of a part of a multipart upload; with a writer, that of this writer's attempt only.

    Raises: ValueError if its number is not 1 to 10000.
    """
    if not 1 <= number <= _MOST_PARTS:
        raise ValueError("parts are numbered 1 to 10000")
    suffix = "" if writer is None else f"-{UUID(str(writer)).hex}"
    return BlobPath(f"{upload(id).name}/part-{number:05}{suffix}")


def piece(id: Id, offset: int, writer: UUID) -> BlobPath:
    """Return the path of a piece that a writer appends to an upload, in stores where each append is a separate blob.

    Only this writer uses the path. So a writer that was given up and finishes late overwrites nothing of its successor.
    """
    return BlobPath(f"{upload(id).name}/at-{offset:020}-{writer.hex}")


def appended(id: Id) -> BlobPath:
    """Return the path of all appended bytes of an upload, in stores where appends go to one file."""
    return BlobPath(f"{upload(id).name}/appended")


def staging(id: Id) -> BlobPath:
    """Return the path of a blob that is being written."""
    return BlobPath(f"{STAGING.name}/{_uuid_text(id)}")


def function(name: str) -> BlobFolder:
    """Return the folder of all deployed versions of a function, named like the folder of a bucket."""
    readable = _READABLE.sub("_", name.lower())[:_LONGEST_READABLE].strip("_")
    return BlobFolder(f"functions/{readable}-{hashlib.sha256(name.encode()).hexdigest()[:_HASH]}")


def function_version(name: str, number: int, sha256: str) -> BlobPath:
    """Return the path of a deployed version."""
    return BlobPath(f"{function(name).name}/{number:06}-{sha256}")


def function_active(name: str) -> BlobPath:
    """Return the path of the blob that contains the number of the active version."""
    return BlobPath(f"{function(name).name}/active")


def function_secret(name: str) -> BlobPath:
    """Return the path of a secret of functions."""
    return BlobPath(f"{FUNCTION_SECRETS.name}/{hashlib.sha256(name.encode()).hexdigest()[:_KEY_HASH]}")


def is_in(folder: BlobFolder, place: BlobPath) -> bool:
    """Return whether a blob belongs to a folder."""
    return place.name.startswith(f"{folder.name}/")


def parse_path(name: str) -> BlobPath | None:
    """Parse a path listed by the store; None for anything else there, such as a file of the operating system."""
    return BlobPath(name) if _NAME.fullmatch(name) else None


def _uuid_text(id: Id) -> str:
    return str(id if isinstance(id, UUID) else UUID(id))


def _uuid_at(parts: list[str], index: int) -> UUID | None:
    try:
        return UUID(parts[index])
    except (IndexError, ValueError):
        return None
