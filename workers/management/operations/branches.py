"""Operations on branches: list, make, start, stop, compare, merge, delete (docs/branches.md).

The supervisor does the work, because that needs a superuser of the database and the keys of the branch; this pool names an action and a branch, and reads how far
it is (broker/processes/branch_requests.py).
"""

import asyncio
import secrets
import shlex
import time
from typing import Annotated

from msgspec import Struct

from broker.processes.branch_requests import (
    BranchAction,
    BranchOverview,
    BranchRequest,
    BranchWork,
    read_overview,
    read_work,
    request_look,
    withdraw_branch_request,
    write_branch_request,
)
from broker.processes.data_folder import data_folder
from schemas.branches import ListedBranch, is_branch_name
from workers.management.areas.supervisor_requests import wait_until_taken
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments

_FRESH_S = 2.0
_LONGEST_S = 10 * 365 * 86_400.0
_Seconds = Annotated[float, limits.number(0, _LONGEST_S)]


class UnmaskedBranch(Struct, frozen=True, forbid_unknown_fields=True):
    """A branch that is about to be made with accounts as they are."""

    name: Annotated[str, limits.text(100)]


class BranchList(Struct, frozen=True):
    """The branches by name. `command`: what follows `headwater branch` and others so that they work on this platform. `problem`: why they cannot be listed."""

    branches: list[ListedBranch]
    looked_at: float
    """Seconds since 1970."""
    command: str
    problem: str = ""


class NewBranch(Struct, frozen=True, forbid_unknown_fields=True):
    """A branch to make. `moment`: of its database, as `headwater restore --to` takes it; empty: now. Times in seconds; 0 never, null as the settings say."""

    name: Annotated[str, limits.text(48)]
    moment: Annotated[str, limits.text(200, least=0)] = ""
    stop_after_s: _Seconds | None = None
    """Stop it after this time without use."""
    remove_after_s: _Seconds | None = None
    """Remove it this long after it was made."""


class BranchReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A branch by its name."""

    name: Annotated[str, limits.text(48)]


class BranchComparison(Struct, frozen=True, forbid_unknown_fields=True):
    """A branch to compare with the platform: its schema, or with `access` who gains and who loses rows in it."""

    name: Annotated[str, limits.text(48)]
    access: bool = False


class BranchMerge(Struct, frozen=True, forbid_unknown_fields=True):
    """A branch whose schema is merged. `migration`: name of the new migration; empty: `merge_` and the name."""

    name: Annotated[str, limits.text(48)]
    migration: Annotated[str, limits.text(100, least=0)] = ""


async def list_branches(context: OperationContext, arguments: NoArguments) -> BranchList:
    """Return the branches as they are now. Raises: ManagementError (409) where no supervisor runs."""
    del context, arguments
    overview = await _overview()
    return BranchList(overview.branches, overview.looked_at, _command_options(), overview.problem)


async def read_status(context: OperationContext, arguments: NoArguments) -> list[BranchWork]:
    """Return the work under way, or the last one, with what it found; nothing if there was none yet."""
    del context, arguments
    work = await asyncio.to_thread(read_work, data_folder())
    return [work] if work else []


async def create(context: OperationContext, arguments: NewBranch) -> BranchWork:
    """Begin to make a branch; `branches.status` reports how far it is. Columns are masked by the project's rules. Raises: ManagementError."""
    for seconds in (arguments.stop_after_s, arguments.remove_after_s):
        if seconds is not None and not 0 <= seconds <= _LONGEST_S:
            raise invalid_arguments("`stop_after_s` and `remove_after_s` are 0 or more, ten years at most")
    name, moment = _checked_name(arguments.name), check_text("moment", arguments.moment, longest=200, least=0)
    if any(branch.name == name for branch in (await _overview()).branches):
        raise ManagementError(409, "exists", f"There is a branch {name} already")
    return await _begin(
        context,
        BranchRequest(_new_id(), "create", name, moment, arguments.stop_after_s, arguments.remove_after_s),
    )


async def start(context: OperationContext, arguments: BranchReference) -> BranchWork:
    """Begin to start a branch. Raises: ManagementError."""
    return await _begin(context, BranchRequest(_new_id(), "start", await _existing(arguments.name)))


async def stop(context: OperationContext, arguments: BranchReference) -> BranchWork:
    """Begin to stop a branch. Raises: ManagementError."""
    return await _begin(context, BranchRequest(_new_id(), "stop", await _existing(arguments.name)))


async def compare(context: OperationContext, arguments: BranchComparison) -> BranchWork:
    """Begin to compare a branch with the platform; a branch that is stopped has its database started meanwhile. Raises: ManagementError."""
    action: BranchAction = "access" if arguments.access else "compare"
    return await _begin(context, BranchRequest(_new_id(), action, await _existing(arguments.name)))


async def merge(context: OperationContext, arguments: BranchMerge) -> BranchWork:
    """Begin to bring a branch's schema to the platform, as migrations of the project folder. Raises: ManagementError."""
    migration = check_text("migration", arguments.migration, longest=100, least=0)
    name = await _existing(arguments.name)
    return await _begin(context, BranchRequest(_new_id(), "merge", name, migration=migration))


async def delete(context: OperationContext, arguments: BranchReference) -> BranchWork:
    """Begin to delete a branch, which is stopped first. Raises: ManagementError."""
    name = _checked_name(arguments.name)
    context.before = next((row for row in (await _overview()).branches if row.name == name), None)
    if context.before is None:
        raise not_found(f"branch {name}")
    return await _begin(context, BranchRequest(_new_id(), "delete", name))


async def keep_accounts(context: OperationContext, arguments: UnmaskedBranch) -> Done:
    """Note in the audit log that a branch is made whose accounts are not masked. Raises: ManagementError."""
    check_text("name", arguments.name, longest=100)
    context.after = {"branch": arguments.name, "accounts": "not masked"}
    return Done()


async def _begin(context: OperationContext, request: BranchRequest) -> BranchWork:
    """Request work and return its status when it has begun. Raises: ManagementError (409)."""
    data = data_folder()
    try:
        is_first = await asyncio.to_thread(write_branch_request, data, request)
    except OSError as error:
        raise ManagementError(409, "folder", f"The data folder cannot be written: {error.strerror}") from None
    if not is_first:
        raise _under_way()
    context.after = request

    def begun() -> BranchWork | None:
        status = read_work(data)
        return (
            status if status is not None and (status.id == request.id or status.state == "running") else None
        )

    def ours() -> BranchWork | None:
        status = begun()
        return status if status is not None and status.id == request.id else None

    try:
        status = await wait_until_taken(begun)
    except asyncio.CancelledError:  # the client has gone: nobody would see what becomes of it
        withdraw_branch_request(data)
        raise
    if status is not None and status.id == request.id:
        return status
    is_withdrawn = await asyncio.to_thread(withdraw_branch_request, data)
    if not is_withdrawn and (taken := await wait_until_taken(ours)) is not None:
        return taken  # the supervisor took it at this moment
    raise _no_supervisor() if status is None else _under_way()


async def _overview() -> BranchOverview:
    """Return the branches as the supervisor sees them now, or saw them two seconds ago. Raises: ManagementError (409)."""
    data, asked_at = data_folder(), time.time()
    known = await asyncio.to_thread(read_overview, data)
    if known is not None and 0 <= asked_at - known.looked_at < _FRESH_S:
        return known
    try:
        await asyncio.to_thread(request_look, data)
    except OSError as error:
        raise ManagementError(409, "folder", f"The data folder cannot be written: {error.strerror}") from None

    def looked() -> BranchOverview | None:
        overview = read_overview(data)
        return overview if overview is not None and overview != known else None

    if (overview := await wait_until_taken(looked)) is not None:
        return overview
    raise _no_supervisor()


async def _existing(name: str) -> str:
    """Return the name of a branch that is there. Raises: ManagementError (400, 404)."""
    name = _checked_name(name)
    if not any(branch.name == name for branch in (await _overview()).branches):
        raise not_found(f"branch {name}")
    return name


def _checked_name(name: str) -> str:
    if not is_branch_name(name):
        raise invalid_arguments(
            "`name` is lower-case letters, digits and hyphens, 48 at most, and none of main, master and git"
        )
    return name


def _under_way() -> ManagementError:
    return ManagementError(
        409,
        "branch_work_under_way",
        "Other work on a branch is under way",
        hint="branches.status reports it.",
    )


def _no_supervisor() -> ManagementError:
    return ManagementError(
        409,
        "no_supervisor",
        "No supervisor works on branches here: this is a branch itself, or the platform was not started by `headwater start` on this machine",
        hint="Run `headwater branch` on the machine of the platform.",
    )


def _command_options() -> str:
    return f"--data {shlex.quote(str(data_folder().absolute()))}"


def _new_id() -> str:
    return secrets.token_hex(8)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer, owner = Right.READER, Right.DEVELOPER, Right.OWNER
    return [
        Operation("branches.list", "List branches", NoArguments, BranchList, reader, list_branches),
        Operation("branches.status", "The work on a branch under way, or the last one", NoArguments, list[BranchWork], developer, read_status),
        Operation("branches.create", "Begin to make a branch", NewBranch, BranchWork, owner, create, changes=True),
        Operation("branches.start", "Begin to start a branch", BranchReference, BranchWork, developer, start, changes=True),
        Operation("branches.stop", "Begin to stop a branch", BranchReference, BranchWork, developer, stop, changes=True),
        Operation("branches.compare", "Begin to compare a branch", BranchComparison, BranchWork, developer, compare, changes=True),
        Operation("branches.merge", "Begin to merge a branch", BranchMerge, BranchWork, owner, merge, changes=True, is_confirmed=True),
        Operation("branches.delete", "Begin to delete a branch", BranchReference, BranchWork, owner, delete, changes=True, is_confirmed=True),
        Operation("branches.keep_accounts", "Note that a branch keeps accounts unmasked", UnmaskedBranch, Done, Right.OWNER, keep_accounts, changes=True),
    ]  # fmt: skip
