"""Backups that an administrator makes, follows, checks and deletes."""

import shlex
import time
from pathlib import Path

import msgspec
import pytest

from broker.processes.backup_requests import BackupSchedule, read_schedule
from tests.platform import Platform, platform
from tests.workers.management.conftest import Client
from tests.workers.management.operations.conftest import RemoteAdministrator, administrator
from workers.backup.manifest import MANIFEST, BackupManifest


@pytest.fixture(scope="module")
def backup(developer: RemoteAdministrator, managed: Platform) -> str:
    """The name of a whole backup that was made through the interface."""
    managed.psql(
        "create table if not exists saved (id int primary key); insert into saved values (1) on conflict do nothing"
    )
    begun = developer.run("backups.create")
    assert begun["state"] == "running"
    assert developer.refused("backups.create") == (409, "backup_under_way")
    deadline = time.monotonic() + 120
    while (status := developer.run("backups.status")[0])["state"] == "running":
        assert time.monotonic() < deadline
    assert (status["state"], status["name"]) == ("done", begun["name"]), status
    assert any("Saved" in line for line in status["lines"])
    return str(begun["name"])


def test_a_backup_is_made_and_listed(reader: RemoteAdministrator, backup: str) -> None:
    listed = reader.run("backups.list")
    [row] = [row for row in listed["backups"] if row["name"] == backup]

    assert row["database_bytes"] > 0
    assert row["contents"]["bytes"] > row["database_bytes"]
    assert row["contents"]["tables"] >= 1
    assert row["contents"]["users"] >= 0
    assert reader.run("platform.health")["last_backup"] == listed["backups"][0]
    assert listed["status"]["name"] == backup
    assert (listed["schedule"], listed["next_run_at"]) == ("", None)


def test_the_plan_names_the_command_that_restores_it(reader: RemoteAdministrator, backup: str) -> None:
    plan = reader.run("backups.plan_restore", name=backup)

    with platform() as other:
        done = other.command(*shlex.split(plan["command"])[1:])
        assert done.returncode == 0, done.stderr
        assert other.psql("select count(*) from saved").split()[2] == "1"
    assert (plan["problems"], plan["migrations"]) == ([], [])
    assert plan["replaces"]["tables"] >= 1


def test_the_schedule_changes_while_the_platform_runs(
    developer: RemoteAdministrator, managed: Platform, backup: str
) -> None:
    owner = administrator(managed, "owner", "--rights", "owner", "--write")
    version = owner.run("settings.list", prefix="management")["version"]
    values = {"management.backup_schedule": "0 3 1 1 *", "management.backups_kept": 3}
    assert developer.refused("settings.change", version=version, values=values) == (403, "no_right")
    status, body = owner.send(
        "settings.change", {"version": version, "values": {"management.backup_schedule": "now and then"}}
    )
    assert (status, "backup_schedule" in body["message"]) == (400, True)

    owner.run("settings.change", version=version, values=values)
    listed = owner.run("backups.list")
    assert (listed["schedule"], listed["kept"]) == ("0 3 1 1 *", 3)
    assert listed["next_run_at"] > time.time()
    assert read_schedule(managed.data / "backups") == BackupSchedule("0 3 1 1 *", 3)

    owner.run("settings.reset", version=version + 1, keys=list(values))
    assert owner.run("backups.list")["schedule"] == ""
    assert read_schedule(managed.data / "backups") == BackupSchedule("", 7)


def test_a_damaged_backup_is_told(
    developer: RemoteAdministrator, reader: RemoteAdministrator, managed: Platform, backup: str
) -> None:
    dump = managed.data / "backups" / backup / "database.dump"
    whole = dump.read_bytes()
    dump.write_bytes(whole[:-1] + b"x")
    try:
        [problem] = reader.run("backups.plan_restore", name=backup)["problems"]
    finally:
        dump.write_bytes(whole)

    assert "damaged" in problem


@pytest.mark.parametrize(
    "name", ["../../etc", "", ".", "x", "20260101T000000Z-ffff", "20260101T000000Z-ffff/..", "a\x00"]
)
def test_names_of_backups_lead_nowhere_else(
    developer: RemoteAdministrator, managed: Platform, name: str
) -> None:
    owner = administrator(managed, "owner", "--rights", "owner", "--write")

    assert developer.refused("backups.plan_restore", name=name) == (404, "not_found")
    assert owner.refused("backups.delete", name=name) == (404, "not_found")
    assert developer.refused("backups.delete", name=name) == (403, "no_right")


async def test_a_backup_that_cannot_be_deleted_is_an_error(owner: Client) -> None:
    folder = Path(owner.worker.configuration.management.backup_folder)
    name, elsewhere = "20260101T000000Z-abcd", folder / "elsewhere"
    elsewhere.mkdir()
    manifest = BackupManifest(
        format=1,
        made_at="",
        headwater="",
        server_version=180000,
        migrations={},
        files={},
        blobs=0,
        blob_bytes=0,
    )
    (elsewhere / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    (folder / name).symlink_to(elsewhere)

    assert await owner.refused("backups.delete", name=name) == (409, "folder")
    [listed] = (await owner.run("backups.list"))["backups"]

    assert listed["name"] == name
    (folder / name).unlink()


def test_a_backup_is_deleted_by_an_owner(managed: Platform, backup: str) -> None:
    owner = administrator(managed, "owner", "--rights", "owner", "--write")
    owner.run("backups.delete", name=backup)

    assert backup not in {row["name"] for row in owner.run("backups.list")["backups"]}
    assert not (managed.data / "backups" / backup).exists()
