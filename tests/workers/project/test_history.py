from pathlib import Path

import msgspec
import pytest

from schemas.project_tasks import SeedTask
from schemas.settings.tree import Settings
from workers.project import history, tasks
from workers.project.history import compare, disagreement
from workers.project.project_folder import ProjectMigration


def local(*versions):
    return [ProjectMigration(version, "x", Path(f"{version}_x.sql")) for version in versions]


@pytest.mark.parametrize(
    ("there", "applied", "pending", "late", "missing"),
    [
        ([], [], [], [], []),
        (["1", "2"], [], ["1", "2"], [], []),
        (["1", "2"], ["1"], ["2"], [], []),
        (["1", "2", "3"], ["1", "3"], [], ["2"], []),
        (["1", "2", "4"], ["1", "3"], ["4"], ["2"], ["3"]),
        ([], ["1"], [], [], ["1"]),
    ],
)
def test_folder_and_history_are_compared(there, applied, pending, late, missing):
    found = compare(local(*there), applied)

    assert [each.version for each in found.pending] == pending
    assert [each.version for each in found.late] == late
    assert found.missing == missing


def test_a_version_that_the_folder_lacks_is_told_with_its_cure():
    reason = disagreement(compare(local("2"), ["1", "2"]))

    assert "migration repair --status reverted 1" in reason


def test_a_late_migration_is_told_unless_all_are_wanted():
    found = compare(local("1", "2"), ["2"])

    assert "1_x.sql" in disagreement(found)
    assert disagreement(found, include_all=True) is None


async def test_a_database_without_history_has_applied_nothing(project):
    assert await history.applied_versions(project.connection) == []
    assert await history.applied_names(project.connection) == {}
    assert await history.seed_hashes(project.connection) == {}


async def test_a_history_of_an_older_tool_gets_the_columns_it_lacks(project):
    await project.connection.execute(
        "create table supabase_migrations.schema_migrations (version text not null primary key);"
        "insert into supabase_migrations.schema_migrations values ('1')"
    )

    assert await history.applied_names(project.connection) == {"1": ""}
    await history.make_history(project.connection)
    await history.record(project.connection, local("2")[0], ["select 1"])

    assert await history.applied_names(project.connection) == {"1": "", "2": "x"}


class _LockedConnection:
    """A connection on which another session holds the lock."""

    async def execute(self, *_, timeout):
        raise TimeoutError


async def test_a_lock_that_another_command_holds_is_named():
    with pytest.raises(TimeoutError, match="another command has been applying"):
        await history.lock(_LockedConnection())


@pytest.mark.parametrize("text", ["", "gone"])
def test_a_failure_without_a_text_is_named_by_its_kind(monkeypatch, capsys, text):
    async def do(*_):
        raise TimeoutError(text)

    monkeypatch.setattr(tasks, "do", do)
    settings, urls = Settings(), {"HEADWATER_MIGRATE_URL": "", "HEADWATER_PROJECT_URL": "postgresql://x/y"}

    assert tasks.run(settings, urls, [msgspec.json.encode(SeedTask()).decode()]) == tasks.FAILED
    assert (text or "TimeoutError") in capsys.readouterr().err
