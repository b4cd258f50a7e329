"""The file that says when a schedule is due next."""

from pathlib import Path

import msgspec

from schemas.projects import NextDue
from workers.scheduler.next_due_note import NextDueNote


def test_the_file_has_the_last_moment_and_is_written_for_changes_alone(tmp_path: Path) -> None:
    path = tmp_path / "due.json"
    note = NextDueNote(str(path))

    note.write(None)
    assert msgspec.json.decode(path.read_bytes(), type=NextDue).moment is None
    note.write(12.5)
    written = path.stat().st_ino
    note.write(12.5)

    assert path.stat().st_ino == written
    assert msgspec.json.decode(path.read_bytes(), type=NextDue).moment == 12.5


def test_without_a_path_or_a_disk_nothing_is_written(tmp_path: Path) -> None:
    NextDueNote().write(1.0)
    NextDueNote(str(tmp_path / "gone" / "due.json")).write(1.0)

    assert list(tmp_path.iterdir()) == []
