"""GET and PUT /user: the caller's own account. Source: reference page "auth", section 6.

A new address waits until it is confirmed (`address_changes.py`); it is the user's at once where nobody else could be
meant: a number where messages are not confirmed, and the first e-mail address of somebody anonymous likewise.
"""

from dataclasses import dataclass

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import account_limit, take
from workers.auth.accounts.users import address_changes, users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.accounts.users.free_addresses import refuse_taken_email, refuse_taken_phone
from workers.auth.accounts.users.shown import merged, user_shown, with_providers
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email.letters import Text
from workers.auth.delivery.email.mails import Mail
from workers.auth.delivery.email.user_notices import tell_changes
from workers.auth.delivery.sms.sender import Channel
from workers.auth.flows.pkce import Challenge, parse_challenge
from workers.auth.http.endpoints import user_password
from workers.auth.http.endpoints.present import Present, present
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction


class Body(msgspec.Struct):
    """What a user may change."""

    email: str = ""
    phone: str = ""
    password: str | None = None
    data: Metadata | None = None
    app_metadata: Metadata | None = None
    current_password: str = ""
    nonce: str = ""
    channel: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """A change of account: new addresses as they are kept, empty for none, and whether they are the user's at once."""

    body: Body
    email: str
    phone: str
    is_email_at_once: bool
    is_phone_at_once: bool

    @property
    def concerns_access(self) -> bool:
        """Tell whether it changes what lets the user in."""
        return bool(self.email or self.phone) or self.body.password is not None


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give the caller's account. Raises: AuthError."""
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction, allows_clients=True)
    wanted = asked.audience(caller.user.aud or "")
    if wanted != (caller.user.aud or ""):
        raise AuthError(Code.VALIDATION_FAILED, "Token audience doesn't match request audience")
    return answer(user_shown(caller.user))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change the caller's account. Raises: AuthError as the table of section 6.2 lists them."""
    body, client = asked.read(Body), asked.device.address
    await take(accounts.database, account_limit(accounts.settings.rate_limit, "user"), client)
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        wish = _wish(accounts, caller.user, body)
        await _refuse(accounts, transaction, asked, caller, wish)
    if wish.email and not wish.is_email_at_once:
        await accounts.outbox.refuse_unreachable(wish.email)
    new = None
    if body.password is not None:
        new = await user_password.check(
            accounts, asked, caller, body.password, body.current_password, body.nonce
        )
    async with accounts.transaction() as transaction:
        # Hashing took its time: what changed meanwhile is seen, and what changes now waits.
        await users.lock(transaction, caller.user.id)
        caller = await present(accounts, asked, transaction)
        wish = _wish(accounts, caller.user, body)
        await _refuse(accounts, transaction, asked, caller, wish)
        if new is not None:
            await user_password.settle(transaction, caller, new)
            await audit.record(accounts, transaction, asked, Action.USER_UPDATED_PASSWORD, caller.user)
        digest = None if new is None else new.digest
        changed = await users.change(transaction, caller.user, _change(accounts, caller.user, wish, digest))
        messages = await _messages(accounts, transaction, asked, changed, wish, challenge)
        await audit.record(accounts, transaction, asked, Action.USER_MODIFIED, changed)
        if new is not None:
            user_password.refuse_same(new)
        changed = await users.find_by_id(transaction, changed.id) or changed
    await tell_changes(accounts, caller.user, changed, is_password_new=new is not None)
    for message in messages:
        await (accounts.outbox.send(message) if isinstance(message, Mail) else message.send(accounts))
    return answer(user_shown(changed))


def _wish(accounts: Accounts, user: User, body: Body) -> Wish:
    """Read what is to change; an address that the user has already does not. Raises: AuthError (400)."""
    own = accounts.settings
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    if phone and body.channel and body.channel not in {*Channel}:
        raise rejections.BAD_CHANNEL()
    return Wish(
        body,
        email="" if email == (user.email or "").lower() else email,
        phone="" if phone == user.phone else phone,
        is_email_at_once=user.is_anonymous and not own.email.enable_confirmations,
        is_phone_at_once=not own.sms.enable_confirmations,
    )


async def _refuse(
    accounts: Accounts, transaction: Transaction, asked: Asked, caller: Present, wish: Wish
) -> None:
    """Raise if the caller may not have what he wishes. Raises: AuthError (401, 403, 422)."""
    user, session = caller.user, caller.session
    if wish.body.app_metadata is not None and asked.bearer.role not in accounts.settings.jwt_admin_roles:
        raise rejections.NOT_ADMIN()
    is_sure = not user.has_verified_factor or (session is not None and session.aal == "aal2")
    if wish.concerns_access and not is_sure:
        raise rejections.UPDATE_NEEDS_AAL2()
    if wish.concerns_access and user.is_sso_user:
        raise rejections.UPDATE_NEEDS_SSO()
    if user.is_anonymous and wish.body.password and not (wish.email or wish.phone):
        raise rejections.NO_ADDRESS_FOR_PASSWORD()
    if wish.email:
        await refuse_taken_email(accounts, transaction, wish.email, user.aud or "", user.id)
    if wish.phone:
        await refuse_taken_phone(transaction, wish.phone, user.aud or "", user.id)


def _change(accounts: Accounts, user: User, wish: Wish, digest: str | None) -> users.Change:
    """Give what changes at once."""
    body, now = wish.body, accounts.now()
    email = wish.email if wish.is_email_at_once else ""
    phone = wish.phone if wish.is_phone_at_once else ""
    providers = [provider for provider, address in (("email", email), ("phone", phone)) if address]
    data = (body.data or {}) | {f"{provider}_verified": True for provider in providers}
    app_metadata = with_providers(user.raw_app_meta_data, providers) if providers else None
    if body.app_metadata is not None:
        app_metadata = merged(app_metadata or user.raw_app_meta_data, body.app_metadata)
    return users.Change(
        email=email or None,
        phone=phone or None,
        password_hash=digest,
        user_metadata=merged(user.raw_user_meta_data, data) if data else None,
        app_metadata=app_metadata,
        email_confirmed_at=now if email else None,
        phone_confirmed_at=now if phone else None,
        is_anonymous=False if user.is_anonymous and providers else None,
        email_change="" if email else None,
        phone_change="" if phone else None,
        is_proven=False,
    )


async def _messages(
    accounts: Accounts,
    transaction: Transaction,
    asked: Asked,
    user: User,
    wish: Wish,
    challenge: Challenge | None,
) -> list[Mail | Text]:
    """Let addresses wait that have to be confirmed, and prepare what asks for it. Raises: AuthError (400, 422, 429)."""
    client, messages = asked.device.address, list[Mail | Text]()
    if wish.email and not wish.is_email_at_once:
        mail = await address_changes.begin_email_change(
            accounts, transaction, user, wish.email, target_of(accounts, asked), challenge, client
        )
        messages.append(mail)
    if wish.phone and not wish.is_phone_at_once:
        text = await address_changes.begin_phone_change(
            accounts, transaction, user, wish.phone, wish.body.channel or Channel.SMS, client
        )
        messages.append(text)
    return messages
