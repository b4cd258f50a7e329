"""Operations on branches: what is noted of them in the audit log. Branches are made by the command line of the machine (docs/branches.md)."""

from typing import Annotated

from msgspec import Struct

from workers.management.interface import argument_limits as limits
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done


class UnmaskedBranch(Struct, frozen=True, forbid_unknown_fields=True):
    """A branch that is about to be made with accounts as they are."""

    name: Annotated[str, limits.text(100)]


async def keep_accounts(context: OperationContext, arguments: UnmaskedBranch) -> Done:
    """Note in the audit log that a branch is made whose accounts are not masked. Raises: ManagementError."""
    check_text("name", arguments.name, longest=100)
    context.after = {"branch": arguments.name, "accounts": "not masked"}
    return Done()


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("branches.keep_accounts", "Note that a branch keeps accounts unmasked", UnmaskedBranch, Done, Right.OWNER, keep_accounts, changes=True),
    ]  # fmt: skip
