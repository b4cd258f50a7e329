"""What the process `archive` answers to a dry run by the broker: a plan, or the reason why there is none."""

import os
from pathlib import Path

import msgspec

from broker.archive.store import open_archive_store
from schemas.recovery import PlanTask
from schemas.settings.backup import Backup
from tests.workers.backup.continuous.test_recovery_plan import KEYS, _hours, _stored
from workers.backup.continuous.plan_service import make_plan


def _request(moment: str) -> bytes:
    return msgspec.json.encode(PlanTask(moment))


async def test_a_moment_is_planned_as_the_command_plans_it(tmp_path: Path) -> None:
    archive = await _stored(tmp_path, _hours(1), 0)

    answer = await make_plan(archive.store, KEYS, _request("latest"))

    assert answer.plan is not None
    assert (answer.plan.base, answer.plan.bases, answer.error) == ("base0", 1, "")
    assert answer.plan.vault_key == ""


async def test_what_cannot_be_restored_has_its_reason_and_is_no_failure(tmp_path: Path) -> None:
    archive = await _stored(tmp_path, _hours(1), 0)

    outside = await make_plan(archive.store, KEYS, _request("2020-01-01 10:00"))
    other_key = await make_plan(archive.store, [os.urandom(32)], _request("latest"))
    nothing = await make_plan(
        open_archive_store(Backup(path=str(tmp_path / "none"))), KEYS, _request("latest")
    )
    unreadable = await make_plan(archive.store, KEYS, b"{")

    assert "is not in the archive" in outside.error
    assert "not among backup.key and backup.old_keys" in other_key.error
    assert "The store has no archive" in nothing.error
    assert (outside.is_rejected, other_key.is_rejected, nothing.is_rejected, unreadable.is_rejected) == (
        True,
        True,
        True,
        False,
    )
    assert outside.plan is other_key.plan is nothing.plan is unreadable.plan is None
