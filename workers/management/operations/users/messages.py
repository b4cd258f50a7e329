"""Messages to users of the project: invitations, emails and codes; and links for whoever sends messages without auth."""

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from schemas.keys.secret_record import SecretRecord
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done
from workers.management.operations.users.auth_pool import JsonObject, call_auth, check_reach, read_user
from workers.management.operations.users.changes import ChangedProjectUser


class ProjectUserInvitation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An address to invite; `data` become the user's metadata, `redirect_to` is where the link leads (it must be allowed)."""

    email: str
    data: dict[str, Any] | UnsetType = UNSET
    redirect_to: str = ""


class UserMessage(StrEnum):
    """What is sent: a link to set a new password, a link to sign in, the pending confirmation, or a code by text message."""

    RECOVERY = "recovery"
    MAGIC_LINK = "magic_link"
    CONFIRMATION = "confirmation"
    CODE_BY_PHONE = "otp"


class MessageToUser(Struct, frozen=True, forbid_unknown_fields=True):
    """A user, and what is sent."""

    id: str
    message: UserMessage
    redirect_to: str = ""


class ActionLinkType(StrEnum):
    """For what a link is; `signup` and `invite` create the user."""

    SIGNUP = "signup"
    INVITE = "invite"
    MAGIC_LINK = "magiclink"
    RECOVERY = "recovery"
    EMAIL_CHANGE_CURRENT = "email_change_current"
    EMAIL_CHANGE_NEW = "email_change_new"


class ActionLinkOrder(SecretRecord, Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A link to make: for whom and for what. `password` is for `signup`, `new_email` for the changes of an address."""

    type: ActionLinkType
    email: str
    password: str | UnsetType = UNSET
    new_email: str | UnsetType = UNSET
    data: dict[str, Any] | UnsetType = UNSET
    redirect_to: str = ""


class ActionLink(SecretRecord, Struct, frozen=True):
    """A link that signs the user in, and the code of the same message. They are shown once and work once."""

    action_link: str
    email_otp: str
    hashed_token: str
    verification_type: str
    redirect_to: str
    user_id: str = msgspec.field(name="id")


async def invite(context: OperationContext, arguments: ProjectUserInvitation) -> ChangedProjectUser:
    """Create a user, and send the invitation."""
    user = await call_auth(context, "POST", "/invite", arguments)
    context.after = {"id": user.get("id"), "email": user.get("email")}
    return ChangedProjectUser(user)


async def send(context: OperationContext, arguments: MessageToUser) -> Done:
    """Send a user a message. The pauses between two messages and the quotas of auth apply."""
    user = await read_user(context, arguments.id)
    path, body = _order(arguments.message, user)
    await call_auth(context, "POST", path, body, {"redirect_to": arguments.redirect_to})
    return Done()


async def generate_link(context: OperationContext, arguments: ActionLinkOrder) -> ActionLink:
    """Return a link, and send nothing."""
    answer = await call_auth(context, "POST", "/admin/generate_link", arguments)
    context.after = {"user_id": answer.get("id"), "type": arguments.type}
    check_reach(context, answer)  # a link that nobody has seen signs nobody in
    return msgspec.convert(answer, ActionLink)


def _order(message: UserMessage, user: JsonObject) -> tuple[str, JsonObject]:
    """Return path and body of the request that sends a message. Raises: ManagementError (409) if there is nothing to send it to."""
    email, phone = user.get("email") or "", user.get("phone") or ""
    match message:
        case UserMessage.RECOVERY:
            return "/recover", {"email": _required(email, "email address")}
        case UserMessage.MAGIC_LINK:
            return "/otp", {"email": _required(email, "email address"), "create_user": False}
        case UserMessage.CODE_BY_PHONE:
            return "/otp", {"phone": _required(phone, "phone number"), "create_user": False}
    if email and not user.get("email_confirmed_at"):
        return "/resend", {"type": "signup", "email": email}
    if phone and not user.get("phone_confirmed_at"):
        return "/resend", {"type": "sms", "phone": phone}
    raise ManagementError(409, "already_confirmed", "The user has confirmed all addresses")


def _required(address: str, what: str) -> str:
    if not address:
        raise ManagementError(409, "no_address", f"The user has no {what}; add one with users.change")
    return address


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "users.invite",
            "Invite a user by email",
            ProjectUserInvitation,
            ChangedProjectUser,
            Right.DEVELOPER,
            invite,
            changes=True,
        ),
        Operation(
            "users.send",
            "Send a user an email or a code",
            MessageToUser,
            Done,
            Right.DEVELOPER,
            send,
            changes=True,
        ),
        Operation(
            "users.generate_link",
            "Make a link that signs a user in",
            ActionLinkOrder,
            ActionLink,
            Right.DEVELOPER,
            generate_link,
            changes=True,
            is_confirmed=True,
            secrets=frozenset({"password"}),
        ),
    ]
