"""The folder through which the pool `management` has the supervisor work on branches, and sees what they are.

    <data folder>/branch-requests/request.json   written by the pool, taken by the supervisor: what to do
    <data folder>/branch-requests/look.json      written by the pool, taken by the supervisor: list the branches now
    <data folder>/branch-requests/work.json      written by the supervisor: the work under way, or the last one
    <data folder>/branch-requests/branches.json  written by the supervisor: the branches at its last look

A branch needs a superuser of the database and has keys of its own, and no worker reads either. So the pool names one of a few actions and a
branch, and the supervisor runs the command `headwater branch`, one at a time. Where no supervisor runs, the request stays.
"""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from broker.processes.request_file import take_request_file, withdraw_request_file, write_request_file
from broker.processes.status_file import read_status_file, write_status_file
from schemas.branches import ListedBranch, SchemaComparison, is_branch_name

FOLDER = "branch-requests"
_REQUEST, _LOOK, _WORK, _BRANCHES = "request.json", "look.json", "work.json", "branches.json"

BranchAction = Literal["create", "start", "stop", "delete", "merge", "compare", "access"]


class BranchRequest(Struct, frozen=True):
    """What to do with a branch. `id` names the work; the times are those of `headwater branch create`, None: as the settings say."""

    id: str
    action: BranchAction
    name: str
    moment: str = ""
    stop_after_s: float | None = None
    remove_after_s: float | None = None
    migration: str = ""
    """Name of the migration of a merge; empty: made of the branch's."""


class BranchWork(Struct, frozen=True):
    """Work under way, or the last one. Times are seconds since 1970."""

    id: str
    action: BranchAction
    name: str
    state: Literal["running", "done", "failed"]
    started_at: float
    ended_at: float | None = None
    lines: list[str] = []
    """The last lines of what the command reported."""
    comparison: SchemaComparison | None = None
    """Of `compare`: what the branch changed of the schema."""
    access: str = ""
    """Of `access`: who gains and who loses access, as text."""
    is_alarm: bool = False
    """Of `access`: clients without a token, or users of another tenant, have more in the branch."""
    is_cut: bool = False
    """Comparison or text are longer than what is here."""


class LookRequest(Struct, frozen=True):
    """List the branches."""


class BranchOverview(Struct, frozen=True):
    """The branches at a moment (seconds since 1970). `problem`: why they cannot be listed."""

    looked_at: float
    branches: list[ListedBranch] = []
    problem: str = ""


def write_branch_request(data: Path, request: BranchRequest) -> bool:
    """Request work on a branch; return whether there was no other request. Raises: OSError."""
    return write_request_file(data / FOLDER / _REQUEST, request)


def take_branch_request(data: Path) -> BranchRequest | None:
    """Take the request; None without one, or for one that names no branch."""
    request = take_request_file(data / FOLDER / _REQUEST, BranchRequest)
    return request if request is not None and is_branch_name(request.name) else None


def withdraw_branch_request(data: Path) -> bool:
    """Remove a request that no supervisor took; return whether there was one."""
    return withdraw_request_file(data / FOLDER / _REQUEST)


def request_look(data: Path) -> None:
    """Request a list of the branches; a request that waits already is enough. Raises: OSError."""
    write_request_file(data / FOLDER / _LOOK, LookRequest())


def take_look(data: Path) -> bool:
    """Take the request of a list; return whether there was one."""
    return take_request_file(data / FOLDER / _LOOK, LookRequest) is not None


def write_work(data: Path, work: BranchWork) -> None:
    """Write how far the work is. Raises: OSError."""
    write_status_file(data / FOLDER / _WORK, work)


def read_work(data: Path) -> BranchWork | None:
    """Return the work under way, or the last one; None if there was none yet."""
    return read_status_file(data / FOLDER / _WORK, BranchWork)


def write_overview(data: Path, overview: BranchOverview) -> None:
    """Write the branches. Raises: OSError."""
    write_status_file(data / FOLDER / _BRANCHES, overview)


def read_overview(data: Path) -> BranchOverview | None:
    """Return the branches at the supervisor's last look; None if there was none yet."""
    return read_status_file(data / FOLDER / _BRANCHES, BranchOverview)
