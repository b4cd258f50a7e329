"""The commands that requests of branches become, what fits into the file of a result, and what a killed supervisor leaves of them."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from broker.processes.branch_requests import (
    BranchRequest,
    BranchWork,
    read_work,
    take_branch_request,
    write_branch_request,
    write_work,
)
from schemas.branches import BranchRecord, SchemaComparison
from services.supervisor.branches import requested_work
from services.supervisor.branches.names import branch_folder
from services.supervisor.branches.record import write_record
from services.supervisor.branches.requested_work import words_of
from services.supervisor.data_folder.folder import DataFolder, create_data_folder
from services.supervisor.data_folder.state import PlatformState, write_state
from services.supervisor.project.settings import Project, load_project


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return load_project(tmp_path_factory.mktemp("project"), None, None, {}, environment={})


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            BranchRequest("1", "create", "a", "--yes", 1800.0, 0.0),
            ["branch", "create", "--at=--yes", "--stop-after=1800s", "--remove-after=0s", "--", "a"],
        ),
        (BranchRequest("1", "create", "a"), ["branch", "create", "--", "a"]),
        (
            BranchRequest("1", "merge", "a", migration="--help"),
            ["branch", "merge", "--yes", "--as=--help", "--", "a"],
        ),
        (BranchRequest("1", "start", "a"), ["start", "--detach", "--branch=a"]),
        (BranchRequest("1", "delete", "a"), ["branch", "delete", "--yes", "--", "a"]),
    ],
    ids=lambda value: value.action if isinstance(value, BranchRequest) else "",
)
def test_texts_of_a_request_are_no_options(
    project: Project, request_: BranchRequest, words: list[str]
) -> None:
    made = words_of(request_, DataFolder(project.data), project)

    named = ["--data", str(project.data), "--project", str(project.root)]
    start = next(place for place in range(len(made)) if made[place : place + 4] == named)
    assert made[:start] + made[start + 4 :] == words


@pytest.mark.parametrize("name", ["git", "main", "../x", "-x", "", "A", "a" * 49])
def test_a_request_that_names_no_branch_is_dropped(project: Project, name: str) -> None:
    assert write_branch_request(project.data, BranchRequest("1", "start", name))

    assert take_branch_request(project.data) is None
    assert write_branch_request(project.data, BranchRequest("1", "start", "a"))


def test_a_long_result_is_cut_so_that_its_file_can_be_read(project: Project) -> None:
    work = BranchWork("1", "compare", "a", "failed", 1.0, 2.0, ["\x01" * 500] * 20)
    comparison = SchemaComparison(["1"], ["\x01" * 1000] * 1000, ["conflict"])
    compared = requested_work._with_result(work, 1, msgspec.json.encode(comparison))
    access = requested_work._with_result(
        msgspec.structs.replace(work, action="access"), 3, b"\x01" * 1_000_000
    )

    (project.data / "branch-requests").mkdir(parents=True)
    for result in (compared, access):
        write_work(project.data, result)
        assert read_work(project.data) == result
        assert (result.state, result.is_cut) == ("done", True)
    assert compared.comparison is not None
    assert compared.comparison.conflicts == ["conflict"]
    assert access.is_alarm


_SUPERVISOR = """
import asyncio, sys
from pathlib import Path
from services.supervisor.branches.requested_work import RequestedBranchWork
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.project.settings import load_project
from services.supervisor.report import SilentReporter

data, root = map(Path, sys.argv[1:])
project = load_project(root, None, data, {})
asyncio.run(RequestedBranchWork(DataFolder(data), project, SilentReporter()).run())
"""


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # other processes announce nothing


def _supervisor(parent: DataFolder, root: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _SUPERVISOR, str(parent.path), str(root)])


def test_work_ends_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    parent = create_data_folder(tmp_path / "data")
    branch = branch_folder(parent, "a")
    branch.path.mkdir(parents=True)
    write_record(branch.path, BranchRecord("a", str(parent.path), 1.0, False))
    # A branch that runs and does not stop: the command that deletes it waits.
    stubborn = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"]
    )
    write_state(
        branch,
        PlatformState("1", stubborn.pid, "running", 1.0, str(branch.path), str(tmp_path), None, {}, {}, []),
    )
    lock = os.open(branch.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    supervisor = _supervisor(parent, tmp_path)
    try:
        assert write_branch_request(parent.path, BranchRequest("1", "delete", "a"))
        _until(lambda: bool(psutil.Process(supervisor.pid).children()))
        [command] = psutil.Process(supervisor.pid).children()
        supervisor.kill()
        supervisor.wait()
        os.close(lock)  # now the branch would be deleted
        _until(lambda: not command.is_running() or command.status() == psutil.STATUS_ZOMBIE)
        supervisor = _supervisor(parent, tmp_path)
        _until(lambda: (work := read_work(parent.path)) is not None and work.state == "failed")
        work = read_work(parent.path)
    finally:
        for process in (supervisor, stubborn):
            process.kill()
            process.wait()

    assert work is not None
    assert work.lines == ["the platform was stopped"]
    assert branch.path.is_dir()
