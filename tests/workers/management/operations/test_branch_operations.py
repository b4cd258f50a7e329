"""Branches that administrators make, start, compare and delete through the interface: rights, refusals, and what is noted."""

import time
from typing import Any

import pytest

from broker.processes.branch_requests import BranchRequest, write_branch_request
from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator, administrator


@pytest.fixture(scope="module")
def writing_owner(managed: Platform) -> RemoteAdministrator:
    """An owner whose token may write."""
    return administrator(managed, "owner", "--rights", "owner", "--write")


def _ended(administrator: RemoteAdministrator, begun: dict[str, Any]) -> dict[str, Any]:
    """Wait until work has ended; return its status."""
    deadline = time.monotonic() + 120
    while (work := administrator.run("branches.status")[0])["state"] == "running":
        assert time.monotonic() < deadline
    assert work["id"] == begun["id"]
    return dict(work)


def test_a_branch_is_made_compared_and_deleted_and_each_is_noted(
    managed: Platform,
    writing_owner: RemoteAdministrator,
    developer: RemoteAdministrator,
    reader: RemoteAdministrator,
) -> None:
    begun = writing_owner.run("branches.create", name="by-hand", moment="", stop_after_s=1800)
    assert (begun["action"], begun["state"]) == ("create", "running")
    assert developer.refused("branches.compare", name="by-hand") in (
        (409, "branch_work_under_way"), (404, "not_found"),
    )  # fmt: skip
    made = _ended(writing_owner, begun)
    assert (made["state"], "Created the branch by-hand" in made["lines"][-2] + made["lines"][-1]) == (
        "done",
        True,
    ), made
    [listed] = reader.run("branches.list")["branches"]
    assert (listed["name"], listed["is_running"], listed["stop_after_s"]) == ("by-hand", False, 1800)
    assert "secrets" not in listed
    assert writing_owner.refused("branches.create", name="by-hand") == (409, "exists")

    started = _ended(developer, developer.run("branches.start", name="by-hand"))
    assert (started["state"], started["lines"]) == (
        "done",
        [],
    )  # its keys are no business of the parent's developers
    [listed] = reader.run("branches.list")["branches"]
    assert listed["api_url"].startswith("http://127.0.0.1:")
    assert listed["used_at"] > listed["created_at"]
    stopped = _ended(developer, developer.run("branches.stop", name="by-hand"))
    assert (stopped["state"], reader.run("branches.list")["branches"][0]["is_running"]) == ("done", False)

    compared = _ended(developer, developer.run("branches.compare", name="by-hand"))
    assert (compared["state"], compared["comparison"]["statements"]) == ("done", [])
    access = _ended(developer, developer.run("branches.compare", name="by-hand", access=True))
    assert (access["state"], access["is_alarm"]) == ("done", False)

    deleted = _ended(writing_owner, writing_owner.run("branches.delete", name="by-hand"))
    assert deleted["state"] == "done", deleted
    assert reader.run("branches.list")["branches"] == []
    rows = writing_owner.run("audit.list", limit=50)["rows"]
    assert {"branches.create", "branches.compare", "branches.delete"} <= {row["operation"] for row in rows}


@pytest.mark.parametrize(
    ("operation", "arguments", "refusal"),
    [
        ("branches.create", {"name": "main"}, (400, "invalid_arguments")),
        ("branches.create", {"name": "--yes"}, (400, "invalid_arguments")),
        ("branches.create", {"name": "../other"}, (400, "invalid_arguments")),
        ("branches.create", {"name": "a", "moment": "x\0"}, (400, "invalid_arguments")),
        ("branches.create", {"name": "a", "stop_after_s": -1}, (400, "invalid_arguments")),
        ("branches.start", {"name": "git"}, (400, "invalid_arguments")),
        ("branches.start", {"name": "absent"}, (404, "not_found")),
        ("branches.delete", {"name": "absent"}, (404, "not_found")),
    ],
)
def test_what_names_no_branch_is_refused(
    writing_owner: RemoteAdministrator, operation: str, arguments: dict[str, object], refusal: tuple[int, str]
) -> None:
    assert writing_owner.refused(operation, **arguments) == refusal


def test_an_owner_alone_makes_merges_and_deletes(
    developer: RemoteAdministrator, reader: RemoteAdministrator
) -> None:
    for operation in ("branches.create", "branches.merge", "branches.delete"):
        assert developer.refused(operation, name="a") == (403, "no_right")
    for operation in ("branches.start", "branches.compare", "branches.status"):
        assert reader.refused(operation, **({} if operation.endswith("status") else {"name": "a"})) == (
            403,
            "no_right",
        )


def test_a_failure_is_reported_with_its_reason(managed: Platform, writing_owner: RemoteAdministrator) -> None:
    failed = _ended(writing_owner, writing_owner.run("branches.create", name="past", moment="2 hours ago"))

    assert failed["state"] == "failed"
    assert "needs continuous backup" in failed["lines"][-1]
    assert not (managed.data / "branches" / "past").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone", "There is no branch gone."),
        ("restore-drill", "restore-drill is the branch of restore drills, which delete it."),
    ],
)
def test_a_start_of_what_is_no_branch_of_theirs_makes_none(
    managed: Platform, developer: RemoteAdministrator, name: str, reason: str
) -> None:
    assert write_branch_request(managed.data, BranchRequest(f"raced-{name}", "start", name))

    failed = _waited(developer, f"raced-{name}")

    assert (failed["state"], failed["lines"]) == ("failed", [reason])
    assert not (managed.data / "branches" / name).exists()


def _waited(administrator: RemoteAdministrator, id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while (
        not (work := administrator.run("branches.status"))
        or work[0]["id"] != id
        or work[0]["state"] == "running"
    ):
        assert time.monotonic() < deadline
    return dict(work[0])
