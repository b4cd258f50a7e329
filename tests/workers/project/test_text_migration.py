"""Versions and file names of migrations made from texts. Running them: tests/workers/management/areas/test_migrations.py."""

from datetime import UTC, datetime

import pytest

from schemas.migration_names import next_version
from workers.project.migration_file import files_to_write
from workers.project.project_folder import ProjectMigration, StoredMigration
from workers.project.text_migration import file_part

NOW = datetime(2026, 11, 23, 4, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("versions", "version"),
    [
        ([], "20261123040506"),
        (["20261123040505"], "20261123040506"),
        (["20261123040506"], "20261123040507"),
        (["20261123040559", "1"], "20261123040600"),
        (["20999999999999"], "209999999999991"),
        (["99991231235959"], "999912312359591"),
        (["x", "../../evil", "9" * 5000], "20261123040506"),
        (["0001"], "20261123040506"),
        (["99"], "991"),
    ],
)
def test_a_version_is_later_than_all_others(versions: list[str], version: str) -> None:
    assert next_version(NOW, versions) == version
    assert all(version > other for other in versions if other.isdigit() and len(other) <= 32)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Add notes!", "Add_notes"),
        ("../../x", "x"),
        ("...", "migration"),
        ("ä\n;b", "b"),
        ("a" * 300, "a" * 100),
        ("-", "-"),
    ],
)
def test_a_name_becomes_a_part_of_a_files_name(name: str, part: str) -> None:
    assert file_part(name) == part


def test_files_are_made_for_what_the_folder_lacks(tmp_path) -> None:
    local = [ProjectMigration("1", "a", tmp_path / "1_a.sql")]
    stored = [
        StoredMigration("1", "a", ["select 1"]),
        StoredMigration("2", "b/c", ["select 2", "select 3"]),
        StoredMigration("3", "d", []),
        StoredMigration("../4", "e", ["select 4"]),
        StoredMigration("5", "f", ["COPY t FROM stdin"]),
    ]

    texts, notices = files_to_write(stored, local)

    assert texts == {"2_b_c.sql": "select 2;\n\nselect 3;\n"}
    assert len(notices) == 3
