"""GET and PUT /user: the caller's own account. Source: reference page "auth", section 6.

Addresses are changed only while they are confirmed at once; sending codes is not built yet.
"""

from datetime import timedelta

import msgspec

from schemas.http import Response
from workers.auth import refusals, sessions, users
from workers.auth.addresses import normal_email, normal_phone
from workers.auth.asked import Asked, answer
from workers.auth.claims import is_recovery
from workers.auth.context import Accounts
from workers.auth.endpoints.present import Present, present
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.limits import account_limit, take
from workers.auth.rows import Metadata
from workers.auth.shown import merged, user_shown, with_providers
from workers.auth.strength import refuse_unusable, weakness_of

_FRESH = timedelta(hours=24)


class Body(msgspec.Struct):
    """What a user may change."""

    email: str | None = None
    phone: str | None = None
    password: str | None = None
    data: Metadata | None = None
    app_metadata: Metadata | None = None
    current_password: str | None = None
    nonce: str | None = None


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give the caller's account. Raises: AuthError."""
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
    wanted = asked.audience(caller.user.aud or "")
    if wanted != (caller.user.aud or ""):
        raise AuthError(Code.VALIDATION_FAILED, "Token audience doesn't match request audience")
    return answer(user_shown(caller.user))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change the caller's account. Raises: AuthError as the table of section 6.2 lists them."""
    body = asked.read(Body)
    limit = account_limit(accounts.settings.rate_limit, "user")
    await take(accounts.database, limit, asked.device.address)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
    digest = await _new_password(accounts, caller, body)
    async with accounts.transaction() as transaction:
        # Hashing took its time: what changed meanwhile is seen, and what changes now waits.
        await users.lock(transaction, caller.user.id)
        caller = await present(accounts, asked, transaction)
        change = _change(accounts, caller, body, digest)
        changed = await users.change(transaction, caller.user, change)
        if digest is not None and caller.session is not None:
            await sessions.end_others(transaction, caller.user.id, caller.session.id)
    return answer(user_shown(changed))


def _change(accounts: Accounts, caller: Present, body: Body, digest: str | None) -> users.Change:
    own, user, now = accounts.settings, caller.user, accounts.now()
    if body.app_metadata is not None:
        raise refusals.NOT_ADMIN()
    email = normal_email(body.email) if body.email else None
    phone = normal_phone(body.phone) if body.phone else None
    email = None if email == user.email else email
    phone = None if phone == user.phone else phone
    is_protected = user.has_verified_factor and (caller.session is None or caller.session.aal != "aal2")
    if is_protected and (email or phone or digest is not None):
        raise AuthError(
            Code.INSUFFICIENT_AAL, "AAL2 session is required to update email, phone or password", 401
        )
    if user.is_sso_user and (email or phone or digest is not None):
        raise AuthError(
            Code.USER_SSO_MANAGED, "Updating email, phone, password of a SSO account only possible via SSO"
        )
    must_confirm = (email and own.email.enable_confirmations) or (phone and own.sms.enable_confirmations)
    if must_confirm or (email and not user.is_anonymous and own.email.double_confirm_changes and user.email):
        raise AuthError(Code.UNEXPECTED_FAILURE, "Confirming addresses is not built yet in this version", 501)
    providers = [provider for provider, given in (("email", email), ("phone", phone)) if given]
    return users.Change(
        email=email,
        phone=phone,
        password_hash=digest,
        user_metadata=_metadata(user.raw_user_meta_data, body.data, is_email_confirmed=bool(email)),
        app_metadata=with_providers(user.raw_app_meta_data, providers) if providers else None,
        email_confirmed_at=now if email else None,
        phone_confirmed_at=now if phone else None,
        is_anonymous=False if user.is_anonymous and providers else None,
    )


async def _new_password(accounts: Accounts, caller: Present, body: Body) -> str | None:
    """Give the hash of a new password, if there is one; an empty text takes the password away."""
    if body.password is None:
        return None
    user = caller.user
    _refuse_old_session(accounts, caller, body)
    if user.encrypted_password and accounts.settings.email.require_current_password:
        await _refuse_without_current(accounts, caller, user.encrypted_password, body.current_password)
    if not body.password:
        return ""
    if user.is_anonymous and not body.email and not body.phone:
        raise AuthError(
            Code.VALIDATION_FAILED,
            "Updating password of an anonymous user without an email or phone is not allowed",
            422,
        )
    refuse_unusable(body.password, accounts.strength)
    weakness = weakness_of(body.password, accounts.strength)
    if weakness is not None:
        raise weakness.refusal()
    if user.encrypted_password:
        verdict = await accounts.hashing.verify(body.password, user.encrypted_password)
        if verdict.is_right:
            raise refusals.SAME_PASSWORD()
    return await accounts.hashing.hash(body.password)


def _refuse_old_session(accounts: Accounts, caller: Present, body: Body) -> None:
    """Raise if the settings want a code for a new password and the session is not fresh. None can be sent yet."""
    session = caller.session
    is_fresh = session is not None and accounts.now() < session.created_at + _FRESH
    if is_fresh or not accounts.settings.email.secure_password_change:
        return
    if not body.nonce:
        raise AuthError(Code.REAUTHENTICATION_NEEDED, "Password update requires reauthentication")
    raise refusals.BAD_NONCE()


async def _refuse_without_current(
    accounts: Accounts, caller: Present, stored: str, current: str | None
) -> None:
    """Raise without the current password, which those need not know who came in by a code."""
    if caller.session is not None and is_recovery(caller.session.used):
        return
    if not current:
        raise AuthError(Code.CURRENT_PASSWORD_REQUIRED, "Current password is required to set a new one", 400)
    if not (await accounts.hashing.verify(current, stored)).is_right:
        raise AuthError(Code.CURRENT_PASSWORD_INVALID, "Current password is not right", 400)


def _metadata(old: Metadata | None, given: Metadata | None, *, is_email_confirmed: bool) -> Metadata | None:
    """Give the metadata after the change, None if they stay as they are."""
    if given is None and not is_email_confirmed:
        return None
    return merged(old, {**(given or {}), **({"email_verified": True} if is_email_confirmed else {})})
