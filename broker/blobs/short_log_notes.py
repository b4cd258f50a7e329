"""Notes about logs of short blobs that were replayed: of which time, and what was missing in them.

    replay (short_log_recovery.py) --> note --> sweep of the storage pool compares the rows of that time with their files
                                                all whole: the note is deleted      else: it names the objects, `headwater doctor` reports it

A note lies beside the logs as JSON. It stays until the operator deletes it, if something was missing.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from broker.blobs.disk_files import sync_folder

SUFFIX = ".note"
_PRIVATE = 0o600


class ShortLogNote(msgspec.Struct, frozen=True):
    """What the replay of one log found. Times are seconds since 1970."""

    log: str
    since: float
    """No blob of the log is older."""
    until: float
    absent: int = 0
    """Acknowledged records that the log did not have any more."""
    damaged: int = 0
    """Bytes that were not what had been written."""
    is_compared: bool = False
    """The rows of its time were compared with their files."""
    lost: tuple[str, ...] = ()
    """Some of the objects whose bytes are missing or others: bucket and name."""
    lost_count: int = 0


def write_note(folder: Path, note: ShortLogNote) -> None:
    """Write a note durably, in the place of the one before. Raises: OSError."""
    path = folder / f"{note.log}{SUFFIX}"
    draft = path.with_suffix(".draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
    try:
        os.write(descriptor, msgspec.json.encode(note))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(draft, path)
    sync_folder(folder)


def read_notes(folder: Path) -> list[ShortLogNote]:
    """Return the notes of a folder of logs, the oldest first; those that cannot be read are left out."""
    notes = []
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.suffix == SUFFIX:
                with suppress(OSError, msgspec.MsgspecError):
                    notes.append(msgspec.json.decode(path.read_bytes(), type=ShortLogNote))
    return sorted(notes, key=lambda note: note.until)


def remove_note(folder: Path, note: ShortLogNote) -> None:
    """Delete a note; one that is gone already does not matter. Raises: OSError."""
    (folder / f"{note.log}{SUFFIX}").unlink(missing_ok=True)
