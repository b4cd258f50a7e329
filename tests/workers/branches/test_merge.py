"""What a merge writes, and what it finds of a killed one. Merges themselves: tests/platforms/test_branch_merges.py."""

from pathlib import Path

import pytest

from schemas.branches import MergeTask
from workers.branches.merge import _new_name, _settle_killed, _write


@pytest.mark.parametrize("content", [b"", b'{"names": ["1_a.s'])
async def test_a_note_that_was_cut_off_is_removed(tmp_path: Path, content: bytes) -> None:
    """It is written before anything else, so nothing else was."""
    (tmp_path / "merging.json").write_bytes(content)
    task = MergeTask("", "", "", str(tmp_path / "base-schema.json"), str(tmp_path), "")

    await _settle_killed(task)

    assert list(tmp_path.iterdir()) == []


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "2_b.sql").write_text("of the user")

    with pytest.raises(FileExistsError):
        _write(tmp_path, {"1_a.sql": "select 1;\n"}, "2_b.sql", ["select 2"])

    assert [path.read_text() for path in tmp_path.rglob("*.sql")] == ["of the user"]


def test_a_new_migration_is_later_than_all_others(tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "29991231235957_of_a_clock_that_was_ahead.sql").touch()

    assert _new_name(tmp_path, "merge", {"29991231235958_b.sql": ""}) == "29991231235959_merge.sql"
