"""POST /admin/generate_link: the link and the code of a mail, for servers that send their mails themselves.

Codes are those of `POST /verify` and `GET /verify`, of every kind; none is sent, so there is no pause and no quota.
Source: reference page "auth", section 16.7.
"""

from dataclasses import dataclass, replace

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, Kind
from workers.auth.accounts.passwords.leaked import refuse_weak
from workers.auth.accounts.passwords.strength import refuse_unusable
from workers.auth.accounts.users import invitations, users
from workers.auth.accounts.users.address_changes import Half
from workers.auth.accounts.users.addresses import normal_email
from workers.auth.accounts.users.free_addresses import refuse_taken_email
from workers.auth.accounts.users.shown import Shown, user_shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery import templates
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.mails import code_draft
from workers.auth.http.endpoints.present import acting_admin, refuse_unless_admin
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction

_OF_NEW = {"signup": letters.SIGNUP, "invite": letters.INVITE}
_OF_KNOWN = {"magiclink": letters.MAGIC_LINK, "recovery": letters.RECOVERY}
_OF_CHANGE = {"email_change_current": Kind.EMAIL_CHANGE_CURRENT, "email_change_new": Kind.EMAIL_CHANGE_NEW}
_TYPES = (*_OF_NEW, *_OF_KNOWN, *_OF_CHANGE)


class Body(msgspec.Struct):
    """Which link, and whose."""

    type: str = ""
    email: str = ""
    password: str = ""
    new_email: str = ""
    data: Metadata | None = None
    redirect_to: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """A link that is to be made: for a normalised address, to a checked target."""

    body: Body
    type: str
    email: str
    aud: str
    target: str


async def generate_link(accounts: Accounts, asked: Asked) -> Response:
    """Make a link, and the account it is for where there is none. Raises: AuthError (400, 404, 422)."""
    await refuse_unless_admin(accounts, asked)
    body = asked.read(Body)
    if body.type not in _TYPES:
        raise rejections.LINK_TYPE(types=", ".join(_TYPES))
    email, aud = normal_email(body.email), asked.audience(accounts.settings.jwt_aud)
    order = Order(body, body.type, email, aud, target_of(accounts, asked, body.redirect_to))
    if order.type in _OF_NEW:
        return await _for_new(accounts, asked, order)
    async with accounts.transaction() as transaction:
        user = await users.find_by_email(transaction, email, aud)
        if user is not None:
            await users.lock(transaction, user.id)
            user = await users.find_by_id(transaction, user.id)
        if user is not None:
            make = _for_change if order.type in _OF_CHANGE else _for_known
            return answer(await make(accounts, transaction, asked, order, user))
    if order.type != "magiclink":
        raise rejections.NO_USER_OF_EMAIL()
    return await _for_new(accounts, asked, replace(order, type="signup"))


async def _for_new(accounts: Accounts, asked: Asked, order: Order) -> Response:
    """Make the link that confirms an account, and the account."""
    purpose, body = _OF_NEW[order.type], order.body
    digest = await _digest(accounts, body.password) if body.type == "signup" else ""
    new = invitations.invited(accounts, order.aud, order.email, body.data, digest)

    async def prepare(transaction: Transaction, user: User) -> Shown:
        action = Action.USER_INVITED if order.type == "invite" else Action.USER_CONFIRMATION_REQUESTED
        await _record(accounts, transaction, asked, order, action, user)
        return await _link(accounts, transaction, order, user, purpose.kind, purpose.template)

    is_invitation = order.type == "invite"
    return answer(
        await invitations.with_invited(
            accounts, new, asked.device.address, prepare, is_invitation=is_invitation
        )
    )


async def _for_known(
    accounts: Accounts, transaction: Transaction, asked: Asked, order: Order, user: User
) -> Shown:
    """Make the link by which a user enters his account."""
    purpose = _OF_KNOWN[order.type]
    await _record(accounts, transaction, asked, order, Action.USER_RECOVERY_REQUESTED, user)
    return await _link(accounts, transaction, order, user, purpose.kind, purpose.template)


async def _for_change(
    accounts: Accounts, transaction: Transaction, asked: Asked, order: Order, user: User
) -> Shown:
    """Make the link of one half of a change of address. What the other half has sent or confirmed holds, if both are
    for the same address."""
    kind = _OF_CHANGE[order.type]
    if kind is Kind.EMAIL_CHANGE_CURRENT and not accounts.settings.email.double_confirm_changes:
        raise rejections.LINK_NEEDS_SECURE_CHANGE()
    new_email = normal_email(order.body.new_email)
    if new_email == order.email:
        raise rejections.EMAIL_EXISTS()
    await refuse_taken_email(accounts, transaction, new_email, order.aud, user.id)
    if new_email != user.email_change:
        await one_time.drop(transaction, user.id, EMAIL_CHANGE)
        change = users.Change(email_change=new_email, email_change_status=Half.NONE)
        user = await users.change(transaction, user, change)
    address = new_email if kind is Kind.EMAIL_CHANGE_NEW else order.email
    await _record(accounts, transaction, asked, order, Action.USER_CONFIRMATION_REQUESTED, user)
    return await _link(accounts, transaction, order, user, kind, templates.Kind.EMAIL_CHANGE, address)


async def _record(
    accounts: Accounts, transaction: Transaction, asked: Asked, order: Order, action: Action, user: User
) -> None:
    traits = {"type": order.type, **audit.about(user)}
    await audit.record(accounts, transaction, asked, action, acting_admin(asked), traits)


async def _link(
    accounts: Accounts,
    transaction: Transaction,
    order: Order,
    user: User,
    kind: Kind,
    template: templates.Kind,
    address: str = "",
) -> Shown:
    """Make a code for a user, at his own address unless another is given, and show it with its link."""
    own, to = accounts.settings, address or order.email
    code = await one_time.issue(
        transaction,
        accounts.code_key,
        user.id,
        kind,
        to,
        now=accounts.now(),
        length=own.email.otp_length,
    )
    user = await users.find_by_id(transaction, user.id) or user
    draft = code_draft(own, accounts.outbox.external_url, template, user, to, code, order.target)
    return user_shown(user) | {
        "action_link": draft.facts.confirmation_url,
        "email_otp": code.code,
        "hashed_token": code.link,
        "verification_type": order.type,
        "redirect_to": order.target,
    }


async def _digest(accounts: Accounts, password: str) -> str:
    """Give the hash of the password that goes with a sign-up. Raises: AuthError (400, 422)."""
    refuse_unusable(password, accounts.strength)
    await refuse_weak(accounts, password)
    return await accounts.hashing.hash(password)
