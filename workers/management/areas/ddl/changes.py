"""All changes of the schema as one union, and the text of a migration. Pure."""

from workers.management.areas.ddl import access, constraints, objects, routines, tables
from workers.management.interface.errors import invalid_arguments

Change = (
    tables.CreateTable
    | tables.RenameTable
    | tables.MoveTable
    | tables.DropTable
    | tables.AddColumn
    | tables.RenameColumn
    | tables.AlterColumn
    | tables.DropColumn
    | constraints.AddPrimaryKey
    | constraints.AddUnique
    | constraints.AddForeignKey
    | constraints.AddCheck
    | constraints.ValidateConstraint
    | constraints.DropConstraint
    | constraints.CreateIndex
    | constraints.DropIndex
    | objects.CreateSchema
    | objects.DropSchema
    | objects.CreateEnum
    | objects.AddEnumValue
    | objects.RenameEnumValue
    | objects.DropType
    | objects.CreateView
    | objects.DropView
    | routines.CreateFunction
    | routines.DropFunction
    | routines.CreateTrigger
    | routines.SwitchTrigger
    | routines.DropTrigger
    | objects.RenameObject
    | objects.CreateExtension
    | objects.DropExtension
    | objects.SetComment
    | access.SetRowSecurity
    | access.CreatePolicy
    | access.AlterPolicy
    | access.DropPolicy
    | access.ChangeGrants
    | access.SwitchPublication
)
"""A change of the schema, named by its field `change`."""

MOST_CHANGES = 500


def statements_of(changes: list[Change]) -> list[str]:
    """Return the statements of changes in order.

    Raises: ManagementError (400): no change, too many, a text that is not of its kind, an index made concurrently beside others.
    """
    if not 1 <= len(changes) <= MOST_CHANGES:
        raise invalid_arguments(f"`changes` must have 1 to {MOST_CHANGES} changes")
    statements = [statement for change in changes for statement in change.statements()]
    if len(statements) > 1 and any(is_concurrent(change) for change in changes):
        raise invalid_arguments(
            "A change with `concurrently` runs outside a transaction, so it must be the only one"
        )
    return statements


def is_concurrent(change: Change) -> bool:
    """Return whether a change cannot run in a transaction."""
    return isinstance(change, constraints.CreateIndex | constraints.DropIndex) and change.concurrently


def migration_text(statements: list[str]) -> str:
    """Return the text of a migration's file."""
    return "\n\n".join(f"{statement};" for statement in statements) + "\n"
