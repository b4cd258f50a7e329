"""Create, change, ban and delete users of the project: by the pool auth, so that its checks, hooks and audit log apply."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from schemas.keys.secret_record import SecretRecord
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.management.operations.users.auth_pool import JsonObject, call_auth, read_user, user_path

_NO_BAN = "none"
_NOT_AUDITED = ("identities", "factors")


class NewProjectUser(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A user to create, with an email address or a phone number. Without a password it signs in by a message or a provider."""

    email: str | UnsetType = UNSET
    phone: str | UnsetType = UNSET
    password: str | UnsetType = UNSET
    email_confirm: bool = False
    phone_confirm: bool = False
    user_metadata: dict[str, Any] | UnsetType = UNSET
    app_metadata: dict[str, Any] | UnsetType = UNSET
    role: str | UnsetType = UNSET
    id: str | UnsetType = UNSET


class ProjectUserChange(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What changes of a user; what is left out stays. Metadata are merged, a null member removes one."""

    id: str
    email: str | UnsetType = UNSET
    phone: str | UnsetType = UNSET
    email_confirm: bool = False
    phone_confirm: bool = False
    user_metadata: dict[str, Any] | UnsetType = UNSET
    app_metadata: dict[str, Any] | UnsetType = UNSET
    role: str | UnsetType = UNSET


class ProjectUserPassword(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True):
    """A new password of a user."""

    id: str
    password: str


class ProjectUserBan(Struct, frozen=True, forbid_unknown_fields=True):
    """How long a user is shut out: numbers with units, as `24h30m`."""

    id: str
    duration: str


class ProjectUserUnban(Struct, frozen=True, forbid_unknown_fields=True):
    """A user whose ban ends."""

    id: str


class ProjectUserDeletion(Struct, frozen=True, forbid_unknown_fields=True):
    """A user to delete. `softly`: the row stays without personal data, so that rows of the project may refer to it."""

    id: str
    softly: bool = False


class ChangedProjectUser(Struct, frozen=True):
    """The user as auth shows it."""

    user: dict[str, Any]


async def create(context: OperationContext, arguments: NewProjectUser) -> ChangedProjectUser:
    """Create a user without sending anything."""
    user = await call_auth(context, "POST", "/admin/users", arguments)
    context.after = _audited(user)
    return ChangedProjectUser(user)


async def change(context: OperationContext, arguments: ProjectUserChange) -> ChangedProjectUser:
    """Change address, number, confirmations, metadata or role of a user."""
    body: JsonObject = msgspec.to_builtins(arguments)
    return await _change(context, arguments.id, {name: body[name] for name in body if name != "id"})


async def set_password(context: OperationContext, arguments: ProjectUserPassword) -> ChangedProjectUser:
    """Set the password of a user."""
    return await _change(context, arguments.id, {"password": arguments.password})


async def ban(context: OperationContext, arguments: ProjectUserBan) -> ChangedProjectUser:
    """Shut a user out for a time. Access tokens that were issued stay valid until they expire."""
    return await _change(context, arguments.id, {"ban_duration": arguments.duration or "0"})


async def unban(context: OperationContext, arguments: ProjectUserUnban) -> ChangedProjectUser:
    """End the ban of a user."""
    return await _change(context, arguments.id, {"ban_duration": _NO_BAN})


async def delete(context: OperationContext, arguments: ProjectUserDeletion) -> Done:
    """Delete a user. `users.references` says beforehand which rows go with it, or prevent it."""
    context.before = _audited(await read_user(context, arguments.id))
    body = {"should_soft_delete": arguments.softly}
    await call_auth(context, "DELETE", user_path(arguments.id), body)
    return Done()


async def _change(context: OperationContext, id_text: str, body: JsonObject) -> ChangedProjectUser:
    context.before = _audited(await read_user(context, id_text))
    user = await call_auth(context, "PUT", user_path(id_text), body)
    context.after = _audited(user)
    return ChangedProjectUser(user)


def _audited(user: JsonObject) -> JsonObject:
    """Return what an audit row holds of a user: without identities, whose claims may be long."""
    return {name: value for name, value in user.items() if name not in _NOT_AUDITED}


def operations() -> list[Operation]:
    """Return the operations of this module."""
    developer, secret = Right.DEVELOPER, frozenset({"password"})
    changed = ChangedProjectUser
    return [
        Operation(
            "users.create",
            "Create a user",
            NewProjectUser,
            changed,
            developer,
            create,
            changes=True,
            secrets=secret,
        ),
        Operation(
            "users.change", "Change a user", ProjectUserChange, changed, developer, change, changes=True
        ),
        Operation(
            "users.set_password",
            "Set the password of a user",
            ProjectUserPassword,
            changed,
            developer,
            set_password,
            changes=True,
            is_confirmed=True,
            secrets=secret,
        ),
        Operation("users.ban", "Shut a user out", ProjectUserBan, changed, developer, ban, changes=True),
        Operation(
            "users.unban", "End a user's ban", ProjectUserUnban, changed, developer, unban, changes=True
        ),
        Operation(
            "users.delete",
            "Delete a user",
            ProjectUserDeletion,
            Done,
            developer,
            delete,
            changes=True,
            is_confirmed=True,
        ),
    ]
