"""Operations that change the schema: changes become SQL that `schema.plan` shows and `schema.apply` runs as a migration."""

from msgspec import Struct, field

from workers.management.areas.catalog.model import RelationInfo
from workers.management.areas.catalog.relations import read_relations
from workers.management.areas.ddl.changes import Change, is_concurrent, migration_text, statements_of
from workers.management.areas.ddl.syntax import check_syntax
from workers.management.areas.ddl.warnings import ChangeWarning, loses_data, tables_of, warnings_of
from workers.management.areas.migrations.apply import (
    AppliedChange,
    apply_migration,
    file_obstacle,
    try_migration,
)
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right


class ChangePlanQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes to plan. `is_tried`: run them in a transaction that is rolled back, which takes their locks for up to 5 seconds."""

    changes: list[Change]
    is_tried: bool = False


class ChangeTrial(Struct, frozen=True):
    """What a trial showed: tables that were rewritten, and the strongest lock on each existing table."""

    rewritten: list[str]
    locks: dict[str, str]


class ChangePlan(Struct, frozen=True):
    """The SQL of changes. `text` is the content of the migration's file; `needs_no_transaction`: it runs outside one.

    `file_obstacle`: why it will be recorded in the database alone; null if it becomes a file of the project folder.
    """

    statements: list[str]
    text: str
    warnings: list[ChangeWarning]
    needs_no_transaction: bool
    trial: ChangeTrial | None = None
    file_obstacle: str | None = None


class NewChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes to apply as a migration of this name."""

    name: str
    changes: list[Change]
    despite_pending: bool = False


class AppliedPlan(Struct, frozen=True):
    """The migration that was applied, and the warnings of its changes."""

    migration: AppliedChange
    warnings: list[ChangeWarning] = field(default_factory=list)


async def plan(context: OperationContext, arguments: ChangePlanQuery) -> ChangePlan:
    """Return the SQL of changes with what they lock, rewrite or lose. Nothing changes."""
    statements = statements_of(arguments.changes)
    await check_syntax(context.database, statements, context.settings.statement_timeout_s)
    text = migration_text(statements)
    trial = None
    if arguments.is_tried:
        if not context.actor.rights.includes(Right.DEVELOPER) or not context.actor.may_write:
            raise ManagementError(
                403, "no_right", "A trial takes locks, so it needs the rights of developer and writing"
            )
        report = await try_migration(context, text)
        trial = ChangeTrial(report.rewritten, report.locks)
    return ChangePlan(
        statements,
        text,
        warnings_of(arguments.changes, await _existing(context, arguments.changes)),
        any(is_concurrent(change) for change in arguments.changes),
        trial,
        await file_obstacle(context),
    )


async def apply(context: OperationContext, arguments: NewChanges) -> AppliedPlan:
    """Apply changes as a migration: one transaction as role `postgres`, recorded, saved as a file.

    What loses data needs a confirmed session.
    """
    return await apply_changes(
        context, arguments.name, arguments.changes, despite_pending=arguments.despite_pending
    )


async def apply_changes(
    context: OperationContext, name: str, changes: list[Change], *, despite_pending: bool = False
) -> AppliedPlan:
    """Apply changes as a migration. Raises: ManagementError, DatabaseError, Disconnected, PoolTimeout."""
    statements = statements_of(changes)
    warnings = warnings_of(changes, await _existing(context, changes))
    if loses_data(warnings) and not context.actor.is_confirmed:
        raise ManagementError(
            403,
            "needs_confirmation",
            "; ".join(warning.message for warning in warnings if warning.code == "data_loss"),
            hint="POST /management/v1/confirm with your password, then repeat this.",
        )
    await check_syntax(context.database, statements, context.settings.statement_timeout_s)
    applied = await apply_migration(
        context, name, migration_text(statements), despite_pending=despite_pending
    )
    return AppliedPlan(applied, warnings)


async def _existing(context: OperationContext, changes: list[Change]) -> dict[tuple[str, str], RelationInfo]:
    """Return the tables that changes name and that exist, by schema and name."""
    named = tables_of(changes)
    if not named:
        return {}
    relations = await read_relations(
        context.database,
        sorted({schema for schema, _ in named}),
        next(iter(named))[1] if len(named) == 1 else None,
        timeout_s=context.settings.statement_timeout_s,
    )
    return {(item.schema, item.name): item for item in relations if (item.schema, item.name) in named}


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "schema.plan", "Show the SQL of schema changes", ChangePlanQuery, ChangePlan, Right.READER, plan
        ),
        Operation(
            "schema.apply", "Change the schema by a migration", NewChanges, AppliedPlan, Right.DEVELOPER, apply,
            changes=True,
        ),
    ]  # fmt: skip
