"""What administrators see of continuous backup: by the file of the process `archive`, by its metrics, and while it is off."""

import math

import pytest
from msgspec.structs import replace

from broker.processes.archive_status import ArchiveStatus, StoredBase
from schemas.settings.backup import Backup
from schemas.settings.storage import S3, Azure, Gcs
from tests.services.supervisor.recovery_plans import plan
from tests.workers.management.operations.conftest import RemoteAdministrator
from workers.management.interface.backends.metrics_text import read_metrics
from workers.management.operations.continuous_backup import (
    _from_metrics,
    described,
    described_plan,
    place_of,
)

NOW = 1_800_000_000.0
ON = Backup(continuous=True, path="/mnt/archive", interval=5.0)
BASE = StoredBase("20270115T080000Z", NOW - 3600, NOW - 3590, 50_000_000)
GOOD = ArchiveStatus(
    "headwater_archive_0", NOW - 3, NOW - 5, 2.0, NOW - 3600, NOW - 3590, waiting_bytes=10, bases=[BASE]
)


@pytest.mark.parametrize(
    ("settings", "status", "state"),
    [
        (ON, GOOD, "good"),
        (ON, None, "silent"),
        (ON, replace(GOOD, written_at=NOW - 121), "silent"),
        (ON, replace(GOOD, fault="backup of the log: no space"), "failing"),
        (ON, replace(GOOD, base_at=None, oldest=None, bases=[]), "starting"),
        (ON, replace(GOOD, covered_until=None, lag_s=None), "starting"),
        (ON, replace(GOOD, lag_s=40.0), "behind"),
        (replace(ON, interval=60.0), replace(GOOD, lag_s=40.0), "good"),
        (replace(ON, continuous=False), GOOD, "off"),
        (replace(ON, continuous=False), None, "off"),
    ],
)
def test_the_state_is_named(settings: Backup, status: ArchiveStatus | None, state: str) -> None:
    assert described(settings, status, NOW).state == state


def test_the_age_grows_while_no_new_report_comes() -> None:
    backup = described(ON, GOOD, NOW)

    assert (backup.lag_s, backup.covered_until, backup.oldest) == (5.0, NOW - 5, NOW - 3590)
    assert list(backup.bases) == [BASE]
    assert backup.place == "/mnt/archive"


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        (replace(ON, backend="s3", s3=S3(bucket="backups", prefix="/shop/")), "s3://backups/shop"),
        (replace(ON, backend="gcs", gcs=Gcs(bucket="backups")), "gcs://backups"),
        (replace(ON, backend="azure", azure=Azure(container="c", prefix="p")), "azure://c/p"),
    ],
)
def test_the_place_is_named_without_keys(settings: Backup, place: str) -> None:
    assert place_of(settings) == place


@pytest.mark.parametrize(
    ("lag_s", "base_age", "up", "state"),
    [
        (2.0, 100.0, 1, "good"),
        (50.0, 100.0, 1, "behind"),
        (50.0, 100.0, 0, "failing"),
        (2.0, math.nan, 1, "starting"),
        (math.nan, math.nan, 0, "starting"),
    ],
)
def test_on_another_machine_the_metrics_are_read(lag_s: float, base_age: float, up: int, state: str) -> None:
    text = "\n".join(
        f'headwater_archive_{name}{{process="archive",member="b:1"}} {value}'
        for name, value in {
            "lag_seconds": lag_s,
            "base_age_seconds": base_age,
            "waiting_bytes": 7.0,
            "up": up,
        }.items()
    )
    names = [
        f"headwater_archive_{name}" for name in ("lag_seconds", "base_age_seconds", "waiting_bytes", "up")
    ]

    backup = _from_metrics(ON, read_metrics(text, names), NOW)

    assert (backup.state, backup.waiting_bytes, backup.is_on_this_machine) == (state, 7, False)
    assert backup.covered_until == (None if math.isnan(lag_s) else NOW - lag_s)
    assert backup.oldest is None


def test_the_plan_of_a_moment_names_the_command_and_no_settings_of_the_server() -> None:
    shown = described_plan(
        replace(plan({"recovery_target_xid": "7"}), moment="before transaction 7", bases=3)
    )

    assert (shown.bases, shown.problem, shown.archive) == (3, "", "headwater_archive_0123456789ab")
    assert shown.command.endswith(" --to 'before transaction 7' --archive headwater_archive_0123456789ab")
    assert "recovery_target_xid" not in str(shown)


def test_a_platform_without_it_says_so(reader: RemoteAdministrator) -> None:
    backup = reader.run("backups.continuous")

    assert (backup["state"], backup["place"], backup["bases"]) == ("off", "", [])
    assert backup["retention_s"] == 7 * 86400


def test_without_the_process_archive_a_plan_says_what_is_missing(reader: RemoteAdministrator) -> None:
    status, body = reader.send("backups.plan_moment", {"moment": "1 hour ago"})

    assert status == 503
    assert "process archive does not run" in body["message"]
