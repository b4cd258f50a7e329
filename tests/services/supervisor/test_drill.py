"""Restore drills delete their own branch, and no other of its name."""

from pathlib import Path

import pytest

from schemas.branches import BranchRecord
from schemas.settings.tree import Settings
from services.supervisor.branches.create import create_branch
from services.supervisor.branches.names import DRILL, branch_folder
from services.supervisor.branches.record import read_record, write_record
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.drill import run_drill
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import Project
from services.supervisor.report import SilentReporter


def test_a_branch_of_that_name_that_is_no_drills_stays(tmp_path: Path) -> None:
    parent = DataFolder(tmp_path)
    project = Project(tmp_path, None, tmp_path, Settings(), {})
    folder = branch_folder(parent, DRILL).path
    folder.mkdir(parents=True)
    write_record(folder, BranchRecord(DRILL, str(tmp_path), 1.0, from_live=False))

    status = run_drill(parent, project, SilentReporter())

    assert read_record(folder) is not None
    assert "is not of a drill" in status.faults[0]
    with pytest.raises(StartRefused, match="Choose another name"):
        create_branch(parent, DRILL, project, SilentReporter())
