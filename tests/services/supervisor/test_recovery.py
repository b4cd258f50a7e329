"""What a restore refuses before it writes anything. The restore itself is tried in tests/platforms/test_recovery.py."""

import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from services.supervisor import recovery
from services.supervisor.data_folder.folder import DataFolder, lock_folder
from services.supervisor.errors import StartFailed, StartRefused
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.project.settings import load_project
from services.supervisor.recovery import check_version, combining_program, recover
from services.supervisor.report import SilentReporter
from tests.services.supervisor.recovery_plans import plan


def test_an_archive_of_another_version_is_refused_with_the_option_that_helps() -> None:
    check_version(plan({}))
    with pytest.raises(
        StartRefused, match=r"Postgres 16, and the embedded server is Postgres 18.*--files-only"
    ):
        check_version(plan({}, 160010))


def test_an_incremental_base_backup_of_another_version_needs_the_program_of_that_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, old = replace(plan({}), bases=2), replace(plan({}, 170004), bases=2)
    program = tmp_path / "pg_combinebackup"
    program.write_text("#!/bin/sh\necho 'pg_combinebackup (PostgreSQL) 16.3'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert combining_program(plan({}, 170004)) == ""
    assert combining_program(chain).endswith("pginstall/bin/pg_combinebackup")
    with pytest.raises(StartRefused, match=r"pg_combinebackup of Postgres 17 is needed.*PATH"):
        combining_program(old)
    program.write_text("#!/bin/sh\necho 'pg_combinebackup (PostgreSQL) 17.4'\n")
    assert combining_program(old) == str(program)


def test_a_restore_that_failed_can_be_repeated_and_other_folders_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_cluster(folder: DataFolder, _: object) -> Cluster:
        folder.postgres.mkdir(exist_ok=True)
        return Cluster(folder.postgres, Path("/none"), None)

    def fail(*_: object) -> None:
        raise StartFailed("the archive does not answer")

    monkeypatch.setattr(recovery.server, "open_cluster", open_cluster)
    monkeypatch.setattr(recovery, "fetch_files", fail)
    project = load_project(tmp_path, None, None, {}, environment={})
    target = tmp_path / "new"
    for _ in range(2):
        with pytest.raises(StartFailed, match="does not answer"):
            recover(project, plan({}), target, SilentReporter())
    held = lock_folder(DataFolder(target))
    with pytest.raises(StartRefused, match="locked"):
        recover(project, plan({}), target, SilentReporter())
    os.close(held)

    (target / "postgres" / "data").mkdir()
    (target / "postgres" / "data" / "PG_VERSION").touch()
    (tmp_path / "file").touch()
    (tmp_path / "other" / "logs").mkdir(parents=True)
    for path in (target, tmp_path / "other"):
        with pytest.raises(StartRefused, match="is not empty"):
            recover(project, plan({}), path, SilentReporter())
    with pytest.raises(StartRefused, match="Not a directory"):
        recover(project, plan({}), tmp_path / "file", SilentReporter())
