"""Requests of backups that the supervisor takes, and what it leaves of old ones."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from broker.processes.backup_requests import (
    REQUEST,
    SCHEDULE,
    BackupRequest,
    BackupSchedule,
    BackupStatus,
    read_status,
    take_request,
    withdraw_request,
    write_request,
    write_schedule,
    write_status,
)
from services.supervisor.backups import BackupRunner, new_backup_name
from services.supervisor.errors import StartRefused
from tests.full_disk import full_disk


class _Lines:
    """Takes the lines of a supervisor."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, line: str) -> None:
        self.lines.append(line)

    def warn(self, line: str) -> None:
        self.lines.append(line)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        raise AssertionError


def _no_database() -> Mapping[str, str]:
    raise StartRefused("This platform runs no database.")


def test_a_request_is_taken_once(tmp_path: Path) -> None:
    request = BackupRequest(new_backup_name(0))

    assert write_request(tmp_path / "new", request)
    assert not write_request(tmp_path / "new", BackupRequest(new_backup_name(1)))
    assert take_request(tmp_path / "new") == request
    assert take_request(tmp_path / "new") is None


def test_a_request_that_was_left_by_a_killed_process_is_not_done_later(tmp_path: Path) -> None:
    request = BackupRequest(new_backup_name(0))
    write_request(tmp_path, request)
    os.utime(tmp_path / REQUEST, (1, 1))

    assert take_request(tmp_path) is None
    assert not (tmp_path / REQUEST).exists()
    write_request(tmp_path, request)
    os.utime(tmp_path / REQUEST, (1, 1))
    assert write_request(tmp_path, request)  # it is in the way of nobody
    assert take_request(tmp_path) == request


@pytest.mark.parametrize(
    "name",
    ["../other", "/etc/cron.d/x", "", "a\nb", "20260101T000000Z-ffff/../../x", "20260101T000000Z-ffff\n"],
)
def test_a_request_for_another_place_is_dropped(tmp_path: Path, name: str) -> None:
    write_request(tmp_path, BackupRequest(name))

    assert take_request(tmp_path) is None
    assert not (tmp_path / REQUEST).exists()


def test_a_request_that_is_being_written_is_left_for_the_next_look(tmp_path: Path) -> None:
    (tmp_path / REQUEST).touch()
    assert take_request(tmp_path) is None
    assert (tmp_path / REQUEST).exists()

    os.utime(tmp_path / REQUEST, (1, 1))
    take_request(tmp_path)
    assert not (tmp_path / REQUEST).exists()


def test_what_a_full_disk_does_not_take_leaves_nothing(tmp_path: Path) -> None:
    name = new_backup_name(0)
    with full_disk():
        with pytest.raises(OSError, match="too large"):
            write_request(tmp_path, BackupRequest(name))
        with pytest.raises(OSError, match="too large"):
            write_status(tmp_path, BackupStatus(name, "running", 1.0))

    assert list(tmp_path.iterdir()) == []


def test_what_is_no_request_is_dropped(tmp_path: Path) -> None:
    (tmp_path / REQUEST).write_bytes(b"\xff" * 100)

    assert take_request(tmp_path) is None
    withdraw_request(tmp_path)


async def test_a_backup_that_cannot_be_made_fails_and_leaves_nothing(tmp_path: Path) -> None:
    report, name = _Lines(), new_backup_name(0)
    runner = BackupRunner(tmp_path, _no_database, report)

    assert await runner._make(name) is False

    status = read_status(tmp_path)
    assert status is not None
    assert (status.name, status.state) == (name, "failed")
    assert "no database" in status.lines[-1]
    assert not (tmp_path / name).exists()


async def test_a_backup_that_was_cut_off_is_reported_as_failed(tmp_path: Path) -> None:
    names = [new_backup_name(day * 86400) for day in range(2)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "database.dump").touch()
    write_status(tmp_path, BackupStatus(names[0], "running", 1.0))
    running = asyncio.create_task(BackupRunner(tmp_path, _no_database, _Lines()).run())
    async with asyncio.timeout(60):
        while (
            (status := read_status(tmp_path)) is None
            or status.state == "running"
            or (tmp_path / names[0]).exists()
        ):
            await asyncio.sleep(0)
    running.cancel()

    assert status.state == "failed"
    assert (tmp_path / names[1]).exists()


async def _tool(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> BackupRunner:
    """Return a runner whose backups are made by a shell program; its last argument is the folder."""
    tool = folder / "tool"
    tool.write_text(f"#!/bin/sh\nfor folder; do :; done\n{program}\n")
    tool.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(tool))
    return BackupRunner(folder / "backups", dict, _Lines())


async def test_a_line_of_any_length_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "head -c 200000 /dev/zero | tr '\\0' x >&2; echo >&2; printf last >&2; touch $folder/manifest.json"
    runner, name = await _tool(tmp_path, long, monkeypatch), new_backup_name(0)

    assert await runner._make(name) is True

    status = read_status(runner.folder)
    assert status is not None
    assert status.lines[1:] == ["x" * 1000, "last"]


async def test_a_stop_of_the_platform_leaves_nothing_of_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = await _tool(tmp_path, "touch $folder/database.dump; echo begun >&2; exec sleep 600", monkeypatch)
    name = new_backup_name(0)
    making = asyncio.create_task(runner._make(name))
    while (status := read_status(runner.folder)) is None or "begun" not in status.lines:
        await asyncio.sleep(0)
    making.cancel()
    await asyncio.wait([making])

    status = read_status(runner.folder)
    assert status is not None
    assert status.state == "failed"
    assert not (runner.folder / name).exists()


def test_a_clock_that_is_set_back_brings_the_next_backup_back(tmp_path: Path) -> None:
    now = 10 * 365 * 86400.0
    runner = BackupRunner(tmp_path, _no_database, _Lines(), "0 3 * * *", clock=lambda: now)
    runner._due = runner._next_due()
    runner._follow_clock()

    now = 1000.0
    runner._follow_clock()

    assert runner._due == 3 * 3600


def test_only_the_oldest_whole_backups_are_removed(tmp_path: Path) -> None:
    names = [new_backup_name(day * 86400) for day in range(4)]
    for name in [*names, "mine", new_backup_name(0)[:-5]]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").touch()
    (tmp_path / names[3] / "manifest.json").unlink()

    BackupRunner(tmp_path, _no_database, _Lines(), kept=1)._remove_oldest()

    assert {path.name for path in tmp_path.iterdir()} == {names[2], names[3], "mine", new_backup_name(0)[:-5]}


def test_a_changed_schedule_applies_at_once(tmp_path: Path) -> None:
    runner = BackupRunner(tmp_path / "new", _no_database, _Lines(), "0 3 * * *", 7, clock=lambda: 0.0)
    of_start = BackupSchedule("0 3 * * *", 7)
    write_schedule(runner.folder, of_start, of_start)
    runner.apply_changes()
    assert (runner.schedule, runner.kept, runner.folder.exists()) == ("0 3 * * *", 7, False)

    write_schedule(runner.folder, BackupSchedule("0 5 * * *", 2), of_start)
    runner.apply_changes()
    assert (runner.schedule, runner.kept, runner._due) == ("0 5 * * *", 2, 5 * 3600)

    write_schedule(runner.folder, of_start, of_start)
    runner.apply_changes()
    assert (runner.schedule, runner.kept, runner._due) == ("0 3 * * *", 7, 3 * 3600)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, b'{"schedule": 1, "kept": "x"}'])
def test_a_schedule_that_cannot_be_read_changes_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SCHEDULE).write_bytes(content)
    runner = BackupRunner(tmp_path, _no_database, _Lines(), "0 3 * * *", 7)

    runner.apply_changes()

    assert (runner.schedule, runner.kept) == ("0 3 * * *", 7)


def test_without_the_management_interface_no_change_is_read(tmp_path: Path) -> None:
    write_schedule(tmp_path, BackupSchedule("* * * * *", 1), BackupSchedule("", 7))
    runner = BackupRunner(tmp_path, _no_database, _Lines(), "", 7, follows_changes=False)

    runner.apply_changes()

    assert runner.schedule == ""


def test_a_schedule_that_is_none_is_reported_and_makes_nothing(tmp_path: Path) -> None:
    report = _Lines()

    assert BackupRunner(tmp_path, _no_database, report, schedule="sometimes")._next_due() is None
    assert "management.backup_schedule" in report.lines[0]
    assert (
        BackupRunner(tmp_path, _no_database, report, schedule="0 3 * * *", clock=lambda: 0.0)._next_due()
        == 3 * 3600
    )
