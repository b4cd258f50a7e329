"""Operations on administrators: list, add, change rights, remove. There is always an enabled owner."""

from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from workers.database.errors import DatabaseError
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.attempts import forget_administrator
from workers.management.interface.identity.links import new_link
from workers.management.interface.identity.model import Administrator
from workers.management.interface.identity.personal_data import Lookup, Personal
from workers.management.interface.identity.store import SQL, as_uuid, execute, fetch, fetch_one, opened_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments

_MOST_ADDRESS = 320
_UNIQUE_VIOLATION = "23505"
_FOREIGN_KEY_VIOLATION = "23503"
Changes = dict[str, tuple[str | bytes | bool | None, ...]]
"""Statements of store.sql with their values after the administrator's id."""


class NewAdministrator(Struct, frozen=True, forbid_unknown_fields=True):
    """An administrator to add; the answer has a link by which they sign in the first time. `role` limits a developer (roles.list)."""

    email: Annotated[str, limits.text(_MOST_ADDRESS, least=3)]
    rights: Right
    role: str | None = None


class AddedAdministrator(Struct, frozen=True):
    """The new administrator, and the secret of the one-time link: `/_/sign-in#<secret>`."""

    administrator: Administrator
    link: str


class AdministratorReference(Struct, frozen=True, forbid_unknown_fields=True):
    """An administrator by id."""

    id: str


class AdministratorReset(Struct, frozen=True, forbid_unknown_fields=True):
    """An administrator who cannot sign in; with `factors`, second factors are removed and all sessions end."""

    id: str
    factors: bool = False


class AdministratorChange(Struct, frozen=True, forbid_unknown_fields=True):
    """New rights of an administrator, whether they are shut out, and a new address; without `email` the address stays.

    Sessions, tokens, password and factors stay. They sign in by the new address from then on. `role` limits a developer, null ends
    the limits; without it a developer keeps the role.
    """

    id: str
    rights: Right
    disabled: bool = False
    email: Annotated[str, limits.text(_MOST_ADDRESS, least=3)] | None = None
    role: str | UnsetType | None = UNSET


class _Id(Struct):
    id: str


async def list_administrators(context: OperationContext, arguments: NoArguments) -> list[Administrator]:
    """Return all administrators, the first one first."""
    del arguments
    return await fetch(await context.database.own(), "administrators", Administrator)


async def add(context: OperationContext, arguments: NewAdministrator) -> AddedAdministrator:
    """Add an administrator without a password, and return a link for the first sign-in."""
    email = _checked_address(arguments.email)
    pool = await context.database.own()
    _check_role(arguments.rights, arguments.role)
    values = (Personal(email), Lookup(email.lower()), arguments.rights.value, arguments.role)
    try:
        added = await fetch_one(pool, "add_administrator", Administrator, *values)
    except DatabaseError as error:
        raise _role_missing(error, arguments.role) from None
    if added is None:
        raise _address_taken(email)
    context.after = added
    return AddedAdministrator(added, await new_link(pool, added.id, context.settings.first_link_s))


async def change(context: OperationContext, arguments: AdministratorChange) -> Administrator:
    """Change the rights of an administrator, and the address. The last owner stays one."""
    keeps_owner = arguments.rights is Right.OWNER and not arguments.disabled
    role = None if arguments.role is UNSET else arguments.role
    _check_role(arguments.rights, role)
    changes: Changes = {
        "change_rights": (arguments.rights.value, arguments.disabled, arguments.role is not UNSET, role)
    }
    if arguments.email is None:
        try:
            return await _change(context, arguments.id, changes, keeps_owner=keeps_owner)
        except DatabaseError as error:
            raise _role_missing(error, role) from None
    email = _checked_address(arguments.email)
    personal = (await context.database.own()).personal
    changes["change_email"] = (personal.stored(Personal(email)), personal.stored(Lookup(email.lower())))
    try:
        return await _change(context, arguments.id, changes, keeps_owner=keeps_owner)
    except DatabaseError as error:
        if error.code != _UNIQUE_VIOLATION:
            raise _role_missing(error, role) from None
        raise _address_taken(email) from None


async def remove(context: OperationContext, arguments: AdministratorReference) -> Done:
    """Remove an administrator with their sessions and tokens. The last owner stays."""
    await _change(context, arguments.id, {"remove_administrator": ()}, keeps_owner=False)
    return Done()


async def reset(context: OperationContext, arguments: AdministratorReset) -> AddedAdministrator:
    """Return a link by which an administrator who lost the password signs in; with `factors`, who lost the factors too.

    Failed attempts are forgotten. Without `factors` the link is followed by the second factor.
    """
    pool = await context.database.own()
    administrator = context.before = await _find(context, arguments.id)
    await forget_administrator(pool, administrator.id, administrator.email)
    if arguments.factors:
        await execute(pool, "reset_factors", administrator.id)
        administrator = context.after = await _find(context, administrator.id)
    return AddedAdministrator(
        administrator, await new_link(pool, administrator.id, context.settings.first_link_s)
    )


async def _find(context: OperationContext, id_text: str) -> Administrator:
    administrator_id = as_uuid(id_text)
    pool = await context.database.own()
    administrator = (
        await fetch_one(pool, "administrator", Administrator, administrator_id) if administrator_id else None
    )
    if administrator is None:
        raise not_found(f"administrator {id_text}")
    return administrator


def _checked_address(text: str) -> str:
    """Return an address without blanks around it. Raises: ManagementError (400)."""
    email = text.strip()
    if not 3 <= len(email) <= _MOST_ADDRESS or "@" not in email or "\0" in email:
        raise invalid_arguments("`email` must be an email address")
    return email


def _check_role(rights: Right, role: str | None) -> None:
    if role is not None and (rights is not Right.DEVELOPER or "\0" in role):
        raise invalid_arguments("`role` limits a developer: `rights` must be developer")


def _role_missing(error: DatabaseError, role: str | None) -> Exception:
    """Return the error for a role that is not there, or the error itself."""
    if error.code != _FOREIGN_KEY_VIOLATION:
        return error
    return not_found(f"role {role!r}; roles.list shows them")


def _address_taken(email: str) -> ManagementError:
    return ManagementError(409, "already_there", f"There is an administrator {email}")


async def _change(
    context: OperationContext,
    id_text: str,
    changes: Changes,
    *,
    keeps_owner: bool,
) -> Administrator:
    """Run changes with the owners locked, so that two at once cannot take away the last one. `changes`: values by statement."""
    before = await _find(context, id_text)
    pool = await context.database.own()
    async with pool.transaction() as transaction:
        owners = await transaction.all(SQL["lock_owners"], _Id)
        is_last = [owner.id for owner in owners] == [before.id]
        if is_last and not keeps_owner:
            raise ManagementError(
                409,
                "last_owner",
                f"{before.email} is the last owner; make somebody else one first",
            )
        for name, values in changes.items():
            await transaction.rows(SQL[name], before.id, *values)
        rows = await transaction.rows(SQL["administrator"], before.id)
    after = opened_rows(pool, rows, Administrator)
    context.before, context.after = before, after[0] if after else None
    return after[0] if after else before


def operations() -> list[Operation]:
    """Return the operations of this module."""
    owner = Right.OWNER
    return [
        Operation(
            "administrators.list",
            "List administrators",
            NoArguments,
            list[Administrator],
            Right.READER,
            list_administrators,
        ),
        Operation(
            "administrators.add",
            "Add an administrator",
            NewAdministrator,
            AddedAdministrator,
            owner,
            add,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "administrators.change",
            "Change rights or the address, or shut out",
            AdministratorChange,
            Administrator,
            owner,
            change,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "administrators.remove",
            "Remove an administrator",
            AdministratorReference,
            Done,
            owner,
            remove,
            changes=True,
            is_confirmed=True,
        ),
        Operation(
            "administrators.reset",
            "Make a link that signs an administrator in, and reset the second factors on request",
            AdministratorReset,
            AddedAdministrator,
            owner,
            reset,
            changes=True,
            is_confirmed=True,
        ),
    ]
