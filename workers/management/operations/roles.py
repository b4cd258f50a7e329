"""Operations on roles of administrators: what a limited developer may do, by area and table. Owners write them."""

import re
from typing import Annotated

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import fetch, fetch_one
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.interface.role_limits import AccessLevel, RoleLimits, TableLevel, levels_fault
from workers.management.operations.account import NoArguments

_LONGEST_NAME = 60
_MOST_AREAS = 200
_MOST_TABLES = 500
_LONGEST_IDENTIFIER = 63
_AREA = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_FOREIGN_KEY_VIOLATION = "23503"


class AdministratorRole(Struct, frozen=True):
    """A role: the level of each area, `none` where it is not named, and levels of tables in the area `rows`; how many have it."""

    name: str
    areas: dict[str, AccessLevel]
    tables: list[TableLevel]
    administrators: int


class RoleToSave(Struct, frozen=True, forbid_unknown_fields=True):
    """A role to store; one of the same name is replaced, for those who have it too, at once."""

    name: Annotated[str, limits.text(_LONGEST_NAME)]
    areas: dict[str, AccessLevel]
    tables: Annotated[list[TableLevel], limits.entries(_MOST_TABLES, least=0)] = []


class RoleReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A role by its name."""

    name: Annotated[str, limits.text(_LONGEST_NAME)]


async def list_roles(context: OperationContext, arguments: NoArguments) -> list[AdministratorRole]:
    """Return the roles by name."""
    del arguments
    return await fetch(await context.database.own(), "roles", AdministratorRole)


async def save(context: OperationContext, arguments: RoleToSave) -> AdministratorRole:
    """Store a role."""
    _check_name(arguments.name)
    if len(arguments.areas) > _MOST_AREAS or not all(_AREA.fullmatch(area) for area in arguments.areas):
        raise invalid_arguments(f"`areas` may have {_MOST_AREAS} names of areas, as `rows` of rows.list")
    if len(arguments.tables) > _MOST_TABLES:
        raise invalid_arguments(f"`tables` may have {_MOST_TABLES} entries")
    names = [(table.schema, table.table) for table in arguments.tables]
    for name in (name for pair in names for name in pair):
        if not 1 <= len(name.encode(errors="replace")) <= _LONGEST_IDENTIFIER or "\0" in name:
            raise invalid_arguments("Names of schemas and tables have 1 to 63 bytes")
    if len(set(names)) < len(names):
        raise invalid_arguments("`tables` names a table twice")
    if fault := levels_fault(RoleLimits(arguments.name, arguments.areas, arguments.tables)):
        raise invalid_arguments(fault)
    areas, tables = (msgspec.json.encode(part).decode() for part in (arguments.areas, arguments.tables))
    stored = await fetch_one(
        await context.database.own(), "save_role", AdministratorRole, arguments.name, areas, tables
    )
    assert stored is not None, "the statement returns the row that it wrote"
    context.after = stored
    return stored


async def remove(context: OperationContext, arguments: RoleReference) -> AdministratorRole:
    """Remove a role that no administrator has."""
    _check_name(arguments.name)
    try:
        removed = await fetch_one(
            await context.database.own(), "remove_role", AdministratorRole, arguments.name
        )
    except DatabaseError as error:
        if error.code != _FOREIGN_KEY_VIOLATION:
            raise
        raise ManagementError(
            409, "role_in_use", f"Administrators have the role {arguments.name}",
            hint="Give them other rights first.",
        ) from None  # fmt: skip
    if removed is None:
        raise not_found(f"role {arguments.name!r}; roles.list shows them")
    context.before = removed
    return removed


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= _LONGEST_NAME or name != name.strip() or not name.isprintable():
        raise invalid_arguments(f"`name` must have 1 to {_LONGEST_NAME} characters, without spaces around it")


def operations() -> list[Operation]:
    """Return the operations of this module."""
    owner = Right.OWNER
    return [
        Operation("roles.list", "List the roles of administrators", NoArguments, list[AdministratorRole], Right.READER, list_roles),
        Operation("roles.save", "Store a role", RoleToSave, AdministratorRole, owner, save, changes=True, is_confirmed=True),
        Operation("roles.remove", "Remove a role", RoleReference, AdministratorRole, owner, remove, changes=True, is_confirmed=True),
    ]  # fmt: skip
