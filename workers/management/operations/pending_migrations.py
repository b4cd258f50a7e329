"""Operation that applies the migrations which the project folder has and the database has not."""

from typing import Annotated

from msgspec import Struct

from workers.management.areas.migrations.pending import apply_pending
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right

_LONGEST_VERSION = 20


class PendingMigrations(Struct, frozen=True, forbid_unknown_fields=True):
    """Which migrations to apply: all that are pending, or those up to a version.

    `include_late`: also those that are older than one which was applied.
    """

    up_to: Annotated[str, limits.text(_LONGEST_VERSION)] | None = None
    include_late: bool = False


class AppliedMigrations(Struct, frozen=True):
    """The names of the files that were applied, in their order, and what their statements raised as notices."""

    files: list[str]
    notices: list[str]


async def apply(context: OperationContext, arguments: PendingMigrations) -> AppliedMigrations:
    """Apply pending migrations in the order of their versions, one transaction each, as role `postgres`.

    Raises: ManagementError (409 without a project folder, or if history and folder disagree).
    """
    if arguments.up_to is not None:
        check_text("up_to", arguments.up_to, longest=_LONGEST_VERSION)
    folder = context.settings.project_folder
    if folder is None or not folder.is_dir():
        raise ManagementError(
            409, "no_project_folder", "This process has no project folder, so nothing is pending"
        )
    notices: list[str] = []
    applied = await apply_pending(
        context, notices, include_late=arguments.include_late, up_to=arguments.up_to
    )
    context.after = [migration.path.name for migration in applied]
    return AppliedMigrations([migration.path.name for migration in applied], notices)


def operations() -> list[Operation]:
    """Return the operations of this area."""
    return [
        Operation(
            "migrations.apply_pending",
            "Apply pending migrations",
            PendingMigrations,
            AppliedMigrations,
            Right.DEVELOPER,
            apply,
            changes=True,
        )
    ]
