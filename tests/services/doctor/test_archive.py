"""What `doctor` and `status` say of continuous backup."""

from pathlib import Path

import pytest

from broker.processes.archive_status import ArchiveStatus, read_archive_status, write_archive_status
from schemas.settings.backup import Backup
from services.cli.backup import covers
from services.doctor.archive import archive_line, look_at_archive
from services.doctor.finding import FindingLevel

NOW = 1_795_400_000.0
ON = Backup(continuous=True, backend="s3")
GOOD = ArchiveStatus("headwater_archive_0", NOW - 2, NOW - 4, 2.0, NOW - 3600, NOW - 86400)


def _levels(status: ArchiveStatus | None, folder: Path, settings: Backup = ON) -> list[FindingLevel]:
    if status is not None:
        write_archive_status(folder, status)
    return [finding.level for finding in look_at_archive(settings, folder, is_running=True, now=NOW)]


def test_what_works_is_told_with_the_age_of_the_last_moment(tmp_path: Path) -> None:
    assert _levels(GOOD, tmp_path) == [FindingLevel.OK, FindingLevel.OK]
    assert read_archive_status(tmp_path) == GOOD
    assert archive_line(tmp_path, NOW).startswith(
        "everything until 4 s ago is stored; last base backup 2026-11-23"
    )


def test_nothing_is_said_where_it_is_off(tmp_path: Path) -> None:
    assert _levels(GOOD, tmp_path, Backup()) == []
    assert archive_line(tmp_path / "none") == ""


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"lag_s": 200.0, "fault": "backup of the log: cannot write: no connection"},
            "cannot write: no connection",
        ),
        ({"written_at": NOW - 500}, "has not reported for 500 s"),
        ({"base_at": NOW - 3 * 86400}, "the last base backup is of"),
        ({"covered_until": None}, "nothing of this database is stored yet"),
    ],
)
def test_what_does_not_work_is_an_error_with_the_reason(
    changed: dict[str, object], text: str, tmp_path: Path
) -> None:
    values = {name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | changed
    write_archive_status(tmp_path, ArchiveStatus(**values))

    errors = [
        finding
        for finding in look_at_archive(ON, tmp_path, is_running=True, now=NOW)
        if finding.level is FindingLevel.ERROR
    ]

    assert len(errors) == 1
    assert text in errors[0].text


def test_a_folder_on_the_disk_of_the_database_is_a_warning(tmp_path: Path) -> None:
    settings = Backup(continuous=True, path=str(tmp_path))

    assert _levels(GOOD, tmp_path, settings)[-1] is FindingLevel.WARNING


def test_a_moment_is_covered_by_the_clock_of_the_server() -> None:
    ahead = ArchiveStatus(
        "a", written_at=NOW, covered_until=NOW + 100 - 2, lag_s=2.0
    )  # its clock is 100 s ahead

    assert covers(ahead, NOW - 2)
    assert not covers(ahead, NOW - 1)
    assert not covers(ArchiveStatus("a", NOW), NOW)
