"""Where blobs lie (pure): every name is made here, of version ids and nothing else.

    objects/<bucket>/<2 hex>/<version>          an object; immutable, each write has a version of its own
    staging/<id>                                what is being written (only where a rename is cheap: on disk)
    uploads/<upload>/appended                   a resumable upload that is not finished, on disk;
                    /at-<offset>-<writer>       elsewhere, in pieces
                    /part-<number>-<writer>     a part of a multipart upload, as one try left it
    transforms/<2 hex>/<version>/<hash>         a picture made of a version
    functions/<function>/<number>-<sha256>      a deployed version of a function, as it was sent
                        /active                 which of them is run
    functions/secrets/<hash>                    a secret of functions, encrypted

So a move or rename of an object is an update of its row. Nothing that a user typed becomes a path: a bucket is shown as
a few plain letters of its id and a hash of the whole, ids are read as UUIDs and spelled anew, other keys are hashed.
"""

import hashlib
import re
from dataclasses import dataclass
from uuid import UUID

_NAME = re.compile(r"(?:objects|staging|uploads|transforms|functions)(?:/[a-z0-9_-]+){1,3}", re.ASCII)
_FOLDER = re.compile(r"(?:objects|staging|uploads|transforms|functions)(?:/[a-z0-9_-]+){0,2}", re.ASCII)
_AT = re.compile(r"at-(\d{20})-[0-9a-f]{32}", re.ASCII)
_SHOWN = re.compile(r"[^a-z0-9_]+", re.ASCII)
_LONGEST_SHOWN, _HASH, _KEY_HASH = 32, 16, 40
_MOST_PARTS = 10_000

Id = UUID | str
"""A version or an upload. A text must spell a UUID, else ValueError."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The name of one blob. It has no dot and no leading slash, so it cannot lead out of the store."""

    name: str

    def __post_init__(self) -> None:
        """Refuse any other text. Raises: ValueError."""
        if not _NAME.fullmatch(self.name):
            raise ValueError("not the name of a blob")

    @property
    def version(self) -> UUID | None:
        """Give the version or the upload that the blob belongs to; None for what is being written."""
        kind, *rest = self.name.split("/")
        return {"objects": _read(rest, 2), "uploads": _read(rest, 0), "transforms": _read(rest, 1)}.get(kind)

    @property
    def offset(self) -> int | None:
        """Give where a piece of a resumable upload begins; None for other blobs."""
        found = _AT.fullmatch(self.name.rpartition("/")[2])
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Folder:
    """What a group of blobs has in common: the beginning of their names, without the slash."""

    name: str

    def __post_init__(self) -> None:
        """Refuse any other text. Raises: ValueError."""
        if not _FOLDER.fullmatch(self.name):
            raise ValueError("not the name of a folder of blobs")


OBJECTS = Folder("objects")
"""All objects of all buckets."""
STAGING = Folder("staging")
"""What is being written, or was when its writer died."""
UPLOADS = Folder("uploads")
"""Resumable and multipart uploads that are not finished."""
TRANSFORMS = Folder("transforms")
"""Pictures made of objects: a cache."""
FUNCTIONS = Folder("functions")
"""What was deployed: functions and their secrets."""
FUNCTION_SECRETS = Folder("functions/secrets")


def blob(bucket_id: str, version: Id) -> Place:
    """Give the place of a version of an object."""
    text = _spelled(version)
    return Place(f"{bucket(bucket_id).name}/{text[:2]}/{text}")


def bucket(bucket_id: str) -> Folder:
    """Give the folder of a bucket: some letters of its id for the eye of an operator, and its hash."""
    text = bucket_id.encode(errors="surrogatepass")
    shown = _SHOWN.sub("_", bucket_id.lower())[:_LONGEST_SHOWN].strip("_")
    return Folder(f"objects/{shown or 'bucket'}-{hashlib.sha256(text).hexdigest()[:_HASH]}")


def transform(version: Id, key: str) -> Place:
    """Give the place of a picture made of a version; `key` spells what was asked for."""
    hashed = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:_KEY_HASH]
    return Place(f"{transforms(version).name}/{hashed}")


def transforms(version: Id) -> Folder:
    """Give the folder of all pictures made of a version."""
    text = _spelled(version)
    return Folder(f"transforms/{text[:2]}/{text}")


def upload(id: Id) -> Folder:
    """Give the folder of an upload that is not finished."""
    return Folder(f"uploads/{_spelled(id)}")


def part(id: Id, number: int, writer: Id | None = None) -> Place:
    """Give the place of a part of a multipart upload; with a writer, of his try at it alone.

    Raises: ValueError if its number is not 1 to 10000.
    """
    if not 1 <= number <= _MOST_PARTS:
        raise ValueError("parts are numbered 1 to 10000")
    own = "" if writer is None else f"-{UUID(str(writer)).hex}"
    return Place(f"{upload(id).name}/part-{number:05}{own}")


def piece(id: Id, offset: int, writer: UUID) -> Place:
    """Give the place of what a writer appends to an upload at an offset, where each append is a blob of its own.

    It is the writer's alone: one that was given up, and ends late, takes nothing from one that came after it.
    """
    return Place(f"{upload(id).name}/at-{offset:020}-{writer.hex}")


def appended(id: Id) -> Place:
    """Give the place of all that was appended to an upload, where appends go to one file."""
    return Place(f"{upload(id).name}/appended")


def staging(id: Id) -> Place:
    """Give the place of a blob that is being written."""
    return Place(f"{STAGING.name}/{_spelled(id)}")


def function(name: str) -> Folder:
    """Give the folder of all deployed versions of a function; its name is shown and hashed, as that of a bucket."""
    shown = _SHOWN.sub("_", name.lower())[:_LONGEST_SHOWN].strip("_")
    return Folder(f"functions/{shown}-{hashlib.sha256(name.encode()).hexdigest()[:_HASH]}")


def function_version(name: str, number: int, sha256: str) -> Place:
    """Give the place of a deployed version."""
    return Place(f"{function(name).name}/{number:06}-{sha256}")


def function_active(name: str) -> Place:
    """Give the place of the note which version of a function is run."""
    return Place(f"{function(name).name}/active")


def function_secret(name: str) -> Place:
    """Give the place of a secret of functions."""
    return Place(f"{FUNCTION_SECRETS.name}/{hashlib.sha256(name.encode()).hexdigest()[:_KEY_HASH]}")


def is_in(folder: Folder, place: Place) -> bool:
    """Say whether a blob belongs to a folder."""
    return place.name.startswith(f"{folder.name}/")


def found(name: str) -> Place | None:
    """Read a name that stands in the store; None for what is not ours, such as a file of the operating system."""
    return Place(name) if _NAME.fullmatch(name) else None


def _spelled(id: Id) -> str:
    return str(id if isinstance(id, UUID) else UUID(id))


def _read(parts: list[str], index: int) -> UUID | None:
    try:
        return UUID(parts[index])
    except (IndexError, ValueError):
        return None
