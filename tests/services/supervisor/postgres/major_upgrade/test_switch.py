"""The switch of two databases, which may stop before any of its steps, and is finished by the next start."""

from pathlib import Path

import pytest

from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.postgres.major_upgrade import switch
from tests.services.supervisor.conftest import Notes

PLAN = switch.SwitchPlan("data-postgres-17-then", "")
_STEPS = 7
"""Changes of the file system that a switch makes, the plan's own file not counted."""


class Killed(BaseException):
    """What stands for the end of the process."""


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path)
    for version, place in (("17", "data"), ("18", f"{switch.DRAFT}/data")):
        (folder.postgres / place).mkdir(parents=True)
        (folder.postgres / place / "PG_VERSION").write_text(version)
    (tmp_path / "programs").write_text("/usr/lib/postgresql/17/bin\n")
    return folder


def versions(folder: DataFolder) -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in folder.postgres.glob("*/PG_VERSION")}


@pytest.mark.parametrize("steps", range(_STEPS))
def test_a_switch_that_was_killed_before_a_step_is_finished_by_the_next_start(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    left = steps

    def killed_when_due(original):
        def run(*arguments, **options):
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return original(*arguments, **options)

        return run

    with monkeypatch.context() as patched:
        for name in ("rename", "unlink"):
            patched.setattr(Path, name, killed_when_due(getattr(Path, name)))
        patched.setattr(switch, "_sync_folder", killed_when_due(switch._sync_folder))
        with pytest.raises(Killed):
            switch.begin_switch(folder, folder.postgres, PLAN, Notes())
    switch.finish_switch(folder, Notes())

    assert versions(folder) == {"data": "18", PLAN.kept: "17"}
    assert not (folder.path / "programs").exists()
    assert not (folder.postgres / switch.DRAFT).exists()


@pytest.mark.parametrize("plan", [None, b"", b'{"kept": "data-post'])
def test_a_copy_without_a_whole_plan_is_removed_and_the_database_stays(
    folder: DataFolder, plan: bytes | None
) -> None:
    if plan is not None:
        (folder.postgres / "switch.json").write_bytes(plan)

    switch.finish_switch(folder, Notes())
    switch.finish_switch(folder, Notes())

    assert versions(folder) == {"data": "17"}
    assert (folder.path / "programs").exists()
    assert not (folder.postgres / switch.DRAFT).exists()
