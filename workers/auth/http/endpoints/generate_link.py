"""POST /admin/generate_link: the link and code of an email, for servers that send their emails themselves.

The codes are those of `POST /verify` and `GET /verify`, of every kind. Nothing is sent, so no pause and no quota apply.
Source: docs/reference/auth.md, section 16.7.
"""

from dataclasses import dataclass, replace

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages, one_time
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, CodeKind
from workers.auth.accounts.passwords.leaked import reject_weak
from workers.auth.accounts.passwords.strength import reject_unusable
from workers.auth.accounts.users import users
from workers.auth.delivery import templates
from workers.auth.delivery.email.emails import code_draft
from workers.auth.flows import invitations
from workers.auth.flows.address_changes import ConfirmedHalf
from workers.auth.flows.address_checks import reject_taken_email
from workers.auth.http.caller import acting_admin, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata
from workers.auth.model.user_json import JsonObject, user_json
from workers.database.transactions.interactive import Transaction

_OF_NEW = {"signup": code_messages.SIGNUP, "invite": code_messages.INVITE}
_OF_KNOWN = {"magiclink": code_messages.MAGIC_LINK, "recovery": code_messages.RECOVERY}
_OF_CHANGE = {
    "email_change_current": CodeKind.EMAIL_CHANGE_CURRENT,
    "email_change_new": CodeKind.EMAIL_CHANGE_NEW,
}
_TYPES = (*_OF_NEW, *_OF_KNOWN, *_OF_CHANGE)


class GenerateLinkBody(SecretRecord, msgspec.Struct):
    """The kind of link, and the user it is for."""

    type: str = ""
    email: str = ""
    password: str = ""
    new_email: str = ""
    data: Metadata | None = None
    redirect_to: str = ""


@dataclass(frozen=True, slots=True)
class LinkOrder:
    """A link to be created: for a normalised address, to a checked target."""

    body: GenerateLinkBody
    type: str
    email: str
    aud: str
    target: str


async def generate_link(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a link, and the user if the address is new. Raises: AuthError (400, 404, 422)."""
    await require_admin(context, request)
    body = request.read(GenerateLinkBody)
    if body.type not in _TYPES:
        raise rejections.LINK_TYPE(types=", ".join(_TYPES))
    email, aud = normal_email(body.email), request.audience(context.settings.jwt_aud)
    order = LinkOrder(body, body.type, email, aud, redirect_target(context, request, body.redirect_to))
    if order.type in _OF_NEW:
        return await _for_new(context, request, order)
    async with context.transaction() as transaction:
        user = await users.find_by_email(transaction, email, aud)
        if user is not None:
            await users.lock(transaction, user.id)
            user = await users.find_by_id(transaction, user.id)
        if user is not None:
            make = _for_change if order.type in _OF_CHANGE else _for_known
            return json_response(await make(context, transaction, request, order, user))
    if order.type != "magiclink":
        raise rejections.NO_USER_OF_EMAIL()
    return await _for_new(context, request, replace(order, type="signup"))


async def _for_new(context: EndpointContext, request: AuthRequest, order: LinkOrder) -> Response:
    """Create the link that confirms a user, and the user."""
    purpose, body = _OF_NEW[order.type], order.body
    digest = await _digest(context, body.password) if body.type == "signup" else ""
    new = invitations.invited_user(context, order.aud, order.email, body.data, digest)

    async def prepare(transaction: Transaction, user: AuthUser) -> JsonObject:
        action = (
            AuditAction.USER_INVITED if order.type == "invite" else AuditAction.USER_CONFIRMATION_REQUESTED
        )
        await _record(context, transaction, request, order, action, user)
        return await _link(context, transaction, order, user, purpose.kind, purpose.template)

    is_invitation = order.type == "invite"
    return json_response(
        await invitations.with_invited(
            context, new, request.device.address, prepare, is_invitation=is_invitation
        )
    )


async def _for_known(
    context: EndpointContext, transaction: Transaction, request: AuthRequest, order: LinkOrder, user: AuthUser
) -> JsonObject:
    """Create the link by which a user signs in."""
    purpose = _OF_KNOWN[order.type]
    await _record(context, transaction, request, order, AuditAction.USER_RECOVERY_REQUESTED, user)
    return await _link(context, transaction, order, user, purpose.kind, purpose.template)


async def _for_change(
    context: EndpointContext, transaction: Transaction, request: AuthRequest, order: LinkOrder, user: AuthUser
) -> JsonObject:
    """Create the link of one half of a change of address. The other half's code and confirmation stay valid if the new address is
    the same.
    """
    kind = _OF_CHANGE[order.type]
    if kind is CodeKind.EMAIL_CHANGE_CURRENT and not context.settings.email.double_confirm_changes:
        raise rejections.LINK_NEEDS_SECURE_CHANGE()
    new_email = normal_email(order.body.new_email)
    if new_email == order.email:
        raise rejections.EMAIL_EXISTS()
    await reject_taken_email(context, transaction, new_email, order.aud, user.id)
    if new_email != user.email_change:
        await one_time.drop(transaction, user.id, EMAIL_CHANGE)
        change = users.UserChange(email_change=new_email, email_change_status=ConfirmedHalf.NONE)
        user = await users.change(transaction, user, change)
    address = new_email if kind is CodeKind.EMAIL_CHANGE_NEW else order.email
    await _record(context, transaction, request, order, AuditAction.USER_CONFIRMATION_REQUESTED, user)
    return await _link(context, transaction, order, user, kind, templates.EmailKind.EMAIL_CHANGE, address)


async def _record(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    order: LinkOrder,
    action: AuditAction,
    user: AuthUser,
) -> None:
    traits = {"type": order.type, **audit.user_traits(user)}
    await audit.record(context, transaction, request, action, acting_admin(request), traits)


async def _link(
    context: EndpointContext,
    transaction: Transaction,
    order: LinkOrder,
    user: AuthUser,
    kind: CodeKind,
    template: templates.EmailKind,
    address: str = "",
) -> JsonObject:
    """Create a code for a user, at the user's own address unless another is passed, and return it with its link."""
    settings, to = context.settings, address or order.email
    code = await one_time.issue(
        transaction,
        context.code_key,
        user.id,
        kind,
        to,
        now=context.now(),
        length=settings.email.otp_length,
    )
    user = await users.find_by_id(transaction, user.id) or user
    draft = code_draft(settings, context.outbox.external_url, template, user, to, code, order.target)
    return user_json(user) | {
        "action_link": draft.values.confirmation_url,
        "email_otp": code.code,
        "hashed_token": code.link,
        "verification_type": order.type,
        "redirect_to": order.target,
    }


async def _digest(context: EndpointContext, password: str) -> str:
    """Return the hash of the password of a sign-up. Raises: AuthError (400, 422)."""
    reject_unusable(password, context.strength)
    await reject_weak(context, password)
    return await context.hashing.hash(password)
