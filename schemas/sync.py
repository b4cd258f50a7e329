"""What the edge of shapes and the pool `sync` exchange beside requests and responses. Source: docs/sync.md."""

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

SHAPE = "/shape"
"""Path of a client's request."""
CONTINUE = "/continue"
"""Path of an edge's own request for requests that wait: `?handle=&offset=&final=`. No client can send it."""
SHAPES = "/shapes"
"""Path of requests of operations: GET lists shapes, DELETE with `?handle=` ends one. No client can send it."""
WAIT = 204
"""Status of the pool's answer that there is nothing yet: the edge waits. It is never sent to a client."""
HANDLE, OFFSET = "electric-handle", "electric-offset"
UP_TO_DATE, HAS_DATA = "electric-up-to-date", "electric-has-data"
CURSOR, SCHEMA = "electric-cursor", "electric-schema"
SEPARATOR = b",\n"
"""Between the messages of a body; JSON texts contain no line break, so a body can be split there."""
FOLDER_HEADER = "headwater-shapes"
"""Header that an edge adds to requests: `folder_mark` of the folder of the shapes that it has. A client's own is removed."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


PLACE_FILE = "place.json"
"""In the folder: up to where the stream was read, written every second."""


def data_folder(path: str, data: str = "") -> Path | None:
    """Return the folder of sync: that of the settings, else in the data folder (that of this process by default); None without one."""
    if path:
        return Path(path)
    data = data or os.environ.get("HEADWATER_DATA", "")
    return Path(data, "sync") if data else None


def shapes_folder(folder: Path) -> Path:
    """Return where the shapes are in the folder of sync: one folder each."""
    return folder / "shapes"


def snapshot_file(folder: Path, handle: str) -> Path:
    """Return the file with the first rows of a shape."""
    return shapes_folder(folder) / handle / "snapshot"


def boot_id() -> str:
    """Return what identifies the present run of the machine's kernel; where the system has no such name, that of the process."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return f"process {os.getpid()}"


def folder_mark(folder: Path | None) -> str:
    """Return what tells whether two processes have the same folder; empty where there is none."""
    if folder is None:
        return ""
    try:
        found = folder.stat()
    except OSError:
        return ""
    return f"{boot_id()}:{found.st_dev}:{found.st_ino}"


class ShapesChanged(Struct, frozen=True, tag="shapes-changed"):
    """Shapes have new messages, or have ended: requests that wait for one of them are answered now."""

    handles: list[str] = []
    is_restart: bool = False
    """The pool has started: all that wait ask again."""


class ShapeWaiters(Struct, frozen=True, tag="shape-waiters"):
    """How many requests wait in one edge process, by handle: its reply to a `ShapesChanged` that wants one."""

    waiting: dict[str, int]


class ShapeDescription(Struct, frozen=True):
    """One shape, for administrators. Its claims are those that decide what its callers may see; a token is not among what is kept."""

    handle: str
    schema: str
    table: str
    where: str
    params: list[str | None]
    columns: list[str]
    replica: str
    log: str
    has_tags: bool
    role: str
    shared_by: str
    """Who has the same log: `role`, all of the role; `claims`, those with the same values of the claims; `caller`, those with the same claims."""
    claims: dict[str, Any]
    state: str
    is_behind: bool
    """Changes wait to be applied."""
    waiting: int
    """Requests that wait for changes, in all edges."""
    snapshot_bytes: int
    total_bytes: int
    age_s: float
    idle_s: float | None
    """Seconds since a client asked for it; null: none has since the pool started."""


class ShapeList(Struct, frozen=True):
    """Shapes, those asked for last first, and how many there are in all."""

    shapes: list[ShapeDescription]
    total: int
    total_bytes: int
    waiting: int
    """Requests that wait for changes, of all shapes."""


class EndedShape(Struct, frozen=True):
    """A shape that was ended."""

    handle: str
    schema: str
    table: str
    role: str
