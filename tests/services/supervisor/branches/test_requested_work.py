"""The commands that requests of branches become, and what fits into the file of a result."""

import msgspec
import pytest

from broker.processes.branch_requests import (
    BranchRequest,
    BranchWork,
    read_work,
    take_branch_request,
    write_branch_request,
    write_work,
)
from schemas.branches import SchemaComparison
from services.supervisor.branches import requested_work
from services.supervisor.branches.requested_work import words_of
from services.supervisor.data_folder.folder import DataFolder
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
