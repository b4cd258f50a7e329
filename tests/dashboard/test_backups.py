"""Backups: made with progress, planned, deleted; the schedule; continuous backup and the commands that restore a moment."""

import json
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from broker.processes.archive_status import ArchiveStatus, read_archive_status
from broker.processes.backup_requests import BackupStatus, read_status, write_status
from broker.processes.drill_status import DrillStatus, write_drill_status
from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform, platform

_HOSTILE = "<img src=x onerror=console.error(1)>"
_DAMAGED = "20200101T000000Z-aaaa"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def server(
    built_dashboard: None, chromium_program: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """A platform with continuous backup."""
    archive = tmp_path_factory.mktemp("archive")
    environment = {
        "HEADWATER_BACKUP_CONTINUOUS": "true",
        "HEADWATER_BACKUP_KEY": "a2V5IG9mIDMyIGJ5dGVzIGZvciB0aGVzZSB0ZXN0cyE=",
        "HEADWATER_BACKUP_PATH": str(archive),
        "HEADWATER_BACKUP_INTERVAL": "0.5",
    }
    with platform(environment=environment) as running:
        yield running
    shutil.rmtree(archive, ignore_errors=True)


@pytest.fixture
def damaged(server: Platform) -> Iterator[Path]:
    """A backup whose manifest somebody wrote."""
    folder = server.data / "backups" / _DAMAGED
    folder.mkdir(parents=True)
    manifest = {
        "format": 1,
        "made_at": "2020-01-01T00:00:00+00:00",
        "headwater": _HOSTILE,
        "server_version": 180000,
        "migrations": {},
        "files": {"database.dump": {"size": 7, "sha256": "x"}},
        "blobs": 0,
        "blob_bytes": 0,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    yield folder
    shutil.rmtree(folder)


async def test_a_backup_is_made_planned_and_deleted_by_its_name(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    server.psql("create table public.backed_up (id int primary key)")
    await window.open("backups")
    await page.get_by_role("button", name="Back up now").click()
    made = page.get_by_role("grid", name="All backups").get_by_role("row").filter(has_text="Headwater").first
    await expect(page.get_by_text("is saved")).to_be_visible()
    name = owner.run("backups.status")[0]["name"]
    row = page.get_by_role("grid", name="All backups").get_by_role("row").filter(has_text=name)
    await expect(row).to_contain_text("1 table")
    await expect(made).to_be_visible()
    await window.screenshot("backups")
    await window.check_accessibility()
    await window.check_narrow()

    await row.focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name=f"Backup {name}")
    await panel.get_by_role("button", name="Dry run").click()
    await expect(panel.get_by_text("can be restored here")).to_be_visible()
    await expect(panel.get_by_role("row", name="Tables 1 1")).to_be_visible()
    command = f"headwater restore --data {server.data} {server.data}/backups/{name} --force"
    await expect(panel.get_by_role("region", name="Command that restores it")).to_contain_text(command)
    await window.screenshot("backups-restore")
    await window.check_accessibility()
    await page.reload()  # the dry run is in the address
    await expect(panel.get_by_text("can be restored here")).to_be_visible()

    await panel.get_by_role("button", name="Delete the backup").click()
    question = page.get_by_role("dialog", name="Delete the backup")
    button = question.get_by_role("button", name="Delete the backup")
    await expect(button).to_be_disabled()
    await question.get_by_label(f"Type {name} to confirm").fill(name)
    await button.click()
    await expect(page.get_by_text(f"Backup {name} is deleted")).to_be_visible()
    await expect(row).to_have_count(0)
    assert not (server.data / "backups" / name).exists()


async def test_a_damaged_backup_is_refused_with_the_reason(window: DashboardWindow, damaged: Path) -> None:
    page = window.page
    await window.open("backups")
    row = page.get_by_role("grid", name="All backups").get_by_role("row").filter(has_text=_HOSTILE)
    await row.click()
    panel = page.get_by_role("dialog", name=f"Backup {_DAMAGED}")
    await expect(panel.get_by_text(f"Headwater {_HOSTILE}")).to_be_visible()
    await panel.get_by_role("button", name="Dry run").click()

    await expect(panel.get_by_text("It would be refused")).to_be_visible()
    await expect(panel.get_by_role("region", name="Command that restores it")).to_have_count(0)
    await window.check_accessibility()


async def test_a_backup_under_way_and_a_failed_one_are_shown(
    window: DashboardWindow, server: Platform
) -> None:
    page, folder = window.page, server.data / "backups"
    before = read_status(folder)
    running = BackupStatus("20260101T000000Z-abcd", "running", 1_800_000_000.0, None, [_HOSTILE])
    try:
        write_status(folder, running)
        await window.open("backups")
        await expect(page.get_by_text("Backup 20260101T000000Z-abcd is being made")).to_be_visible()
        await expect(page.get_by_role("list", name="What it reports")).to_contain_text(_HOSTILE)
        await window.screenshot("backups-running")
        await window.check_accessibility()
        write_status(
            folder, BackupStatus(running.name, "failed", 1_800_000_000.0, 1_800_000_009.0, ["no space"])
        )

        await expect(page.get_by_text("Backup 20260101T000000Z-abcd failed")).to_be_visible()
        await expect(page.get_by_text("no space")).to_be_visible()
        await window.check_accessibility()
    finally:
        write_status(folder, before or BackupStatus("", "done", 0.0, 0.0))


async def test_the_schedule_changes_at_once(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("backups")
    await page.get_by_role("button", name="Change the schedule").click()
    dialog = page.get_by_role("dialog", name="Change the schedule")
    await dialog.get_by_role("button", name="When").click()
    await page.get_by_role("option", name="Every week").click()
    await dialog.get_by_role("button", name="On").click()
    await page.get_by_role("option", name="Monday").click()
    await dialog.get_by_label("At (GMT)").fill("2:5")
    await expect(dialog.get_by_text("Write hours and minutes")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Change the schedule")).to_be_disabled()
    await dialog.get_by_label("At (GMT)").fill("02:30")
    await dialog.get_by_label("Backups that are kept").fill("4")
    await window.screenshot("backups-schedule")
    await window.check_accessibility()
    await page.keyboard.press("Enter")

    await expect(page.get_by_text("every Monday at 02:30 GMT")).to_be_visible()
    await expect(page.get_by_text("the newest 4 are kept")).to_be_visible()
    listed = owner.run("backups.list")
    assert (listed["schedule"], listed["kept"]) == ("30 2 * * 1", 4)
    assert datetime.fromtimestamp(listed["next_run_at"], UTC).strftime("%a %H:%M") == "Mon 02:30"


async def test_a_moment_is_chosen_and_its_commands_are_shown(
    window: DashboardWindow, server: Platform
) -> None:
    page = window.page
    write_drill_status(
        server.data, DrillStatus(time.time(), 41.0, "now", [_HOSTILE, "b"], unsent="it answered 500")
    )
    await window.open("backups/continuous")
    await page.get_by_text("everything is stored").wait_for()
    await expect(page.get_by_text(f"failed: {_HOSTILE} (and 1 more)")).to_be_visible()
    await expect(page.get_by_text("The webhook did not take the result: it answered 500")).to_be_visible()
    await expect(page.get_by_role("grid", name="Base backups").get_by_role("row")).to_have_count(2)
    status = read_archive_status(server.data) or ArchiveStatus("", 0.0)
    assert status.oldest is not None
    assert status.covered_until is not None
    moment = datetime.fromtimestamp(status.covered_until, UTC).replace(microsecond=0)
    field = page.get_by_label("Moment", exact=True)
    await field.fill(f"{moment + timedelta(days=1):%Y-%m-%dT%H:%M:%S}")
    await expect(page.get_by_text("It must be between")).to_be_visible()
    await expect(page.get_by_role("region", name="1. See what it would give")).to_have_count(0)
    await field.fill(f"{moment:%Y-%m-%dT%H:%M:%S}")

    command = f"headwater restore --data {server.data} --to {moment:%Y-%m-%dT%H:%M:%SZ}"
    await expect(page.get_by_role("region", name="1. See what it would give")).to_contain_text(
        f"{command} --dry-run"
    )
    await expect(page.get_by_role("region", name="3. Or restore it")).to_contain_text(f"{command} --switch")
    await page.get_by_role("button", name="Dry run").click()
    await expect(page.get_by_text("This moment can be restored. Nothing was changed.")).to_be_visible()
    await expect(page.get_by_text("copies in the archive")).to_be_visible()
    await window.screenshot("backups-continuous")
    await window.check_accessibility()
    await window.check_narrow()
    await page.reload()
    await expect(page.get_by_role("region", name="1. See what it would give")).to_contain_text(command)


async def test_home_counts_continuous_backup_as_a_backup(window: DashboardWindow) -> None:
    page = window.page
    await window.open()

    await expect(page.get_by_text("continuous backup", exact=True)).to_be_visible()
    await expect(page.get_by_text("There is no backup yet")).to_have_count(0)


async def test_a_reader_sees_backups_and_changes_nothing(
    browser: Browser, server: Platform, damaged: Path
) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("backups")
        await (
            page.get_by_role("grid", name="All backups").get_by_role("row").filter(has_text=_DAMAGED).click()
        )
        panel = page.get_by_role("dialog", name=f"Backup {_DAMAGED}")
        await expect(panel.get_by_role("button", name="Dry run")).to_be_visible()
        await expect(panel.get_by_role("button", name="Delete the backup")).to_have_count(0)
        await page.keyboard.press("Escape")

        await expect(page.get_by_role("button", name="Back up now")).to_have_count(0)
        await expect(page.get_by_role("button", name="Change the schedule")).to_have_count(0)
        await page.get_by_role("tab", name="Points in time").click()
        await expect(page.get_by_label("Moment", exact=True)).to_be_visible()
