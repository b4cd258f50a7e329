"""Everything under /passkeys: making one, signing in with one, and the list of one's own.

Registration is for confirmed people of the project's own: no anonymous user, none of single sign-on. Who has a second
factor needs it to add or delete a passkey, which would else be a way around it. Source: reference page "auth", section 10.
"""

from datetime import timedelta
from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import Limit, take
from workers.auth.accounts.passwords.login_failures import noted
from workers.auth.accounts.sessions.claims import Method, is_enough
from workers.auth.accounts.users import users
from workers.auth.accounts.users.shown import Shown
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.factors import passkeys, webauthn_rules
from workers.auth.factors.passkeys import Passkey, Purpose
from workers.auth.factors.relying_party import relying_party
from workers.auth.factors.webauthn_credentials import Assertion, Unverified
from workers.auth.flows import captcha
from workers.auth.http.endpoints.present import Present, present
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import User
from workers.database.interactive import Transaction

_MOST_NAME = 120
_PROVIDER = "passkey"


class Verification(msgspec.Struct):
    """What a browser brings when its authenticator has answered."""

    challenge_id: str = ""
    credential: Shown | None = None


class Naming(msgspec.Struct):
    """What of a passkey its owner may change."""

    friendly_name: str = ""


def refuse_if_off(accounts: Accounts) -> None:
    """Raise unless the project has passkeys. Raises: AuthError (404)."""
    if not accounts.settings.passkey.enabled:
        raise rejections.PASSKEYS_DISABLED()


async def registration_options(accounts: Accounts, asked: Asked) -> Response:
    """Give what a browser needs to make a passkey for the caller. Raises: AuthError."""
    refuse_if_off(accounts)
    await _take(accounts, asked)
    own, challenge = accounts.settings, webauthn_rules.new_challenge()
    async with accounts.transaction() as transaction:
        user = await _registrant(accounts, asked, transaction)
        await passkeys.refuse_beyond(transaction, user.id, own.passkey.max_passkeys_per_user)
        options = webauthn_rules.creation_options(
            relying_party(own),
            user,
            challenge,
            await passkeys.known(transaction, user.id),
            _lasts_s(accounts),
            is_passkey=True,
        )
        return await _challenge(accounts, transaction, Purpose.REGISTRATION, challenge, options, user.id)


async def registration_verify(accounts: Accounts, asked: Asked) -> Response:
    """Keep the passkey that an authenticator has made. Raises: AuthError."""
    refuse_if_off(accounts)
    id, credential = _answered(asked)
    async with accounts.transaction() as transaction:
        user = await _registrant(accounts, asked, transaction)
        challenge = await passkeys.take_challenge(
            transaction, id, Purpose.REGISTRATION, accounts.now(), user.id
        )
    if challenge is None:
        raise rejections.WEBAUTHN_CHALLENGE_EXPIRED()
    try:
        made = webauthn_rules.verify_creation(relying_party(accounts.settings), challenge, credential)
    except Unverified as error:
        raise rejections.PASSKEY_UNVERIFIED(reason=error) from None
    async with accounts.transaction() as transaction:
        await users.lock(transaction, user.id)
        user = await _registrant(accounts, asked, transaction)
        await passkeys.refuse_beyond(transaction, user.id, accounts.settings.passkey.max_passkeys_per_user)
        passkey = await passkeys.add(transaction, user.id, made)
        await _record(accounts, transaction, asked, Action.PASSKEY_CREATED, user, passkey.id)
    return answer(passkeys.passkey_shown(passkey))


async def authentication_options(accounts: Accounts, asked: Asked) -> Response:
    """Give what a browser needs to offer the passkeys of whoever sits there. Raises: AuthError."""
    refuse_if_off(accounts)
    await _take(accounts, asked)
    await captcha.check(accounts, asked)
    challenge = webauthn_rules.new_challenge()
    options = webauthn_rules.request_options(
        relying_party(accounts.settings), challenge, [], _lasts_s(accounts)
    )
    async with accounts.transaction() as transaction:
        return await _challenge(accounts, transaction, Purpose.AUTHENTICATION, challenge, options)


async def authentication_verify(accounts: Accounts, asked: Asked) -> Response:
    """Give a session to who holds a passkey. Raises: AuthError."""
    refuse_if_off(accounts)
    id, credential = _answered(asked)
    async with accounts.transaction() as transaction:
        challenge = await passkeys.take_challenge(transaction, id, Purpose.AUTHENTICATION, accounts.now())
    if challenge is None:
        raise rejections.WEBAUTHN_CHALLENGE_EXPIRED()
    async with noted(accounts, asked, _PROVIDER) as trying, accounts.transaction() as transaction:
        try:
            passkey = await _locked(transaction, webauthn_rules.credential_id(credential))
            trying.user = user = await users.find_by_id(transaction, passkey.user_id)
            used = _used(accounts, passkey, challenge, credential)
        except Unverified as error:
            raise rejections.PASSKEY_UNVERIFIED(reason=error) from None
        if user is None or user.deleted_at is not None:
            raise rejections.NO_WEBAUTHN_CREDENTIAL()
        if user.is_banned(accounts.now()):
            raise rejections.USER_BANNED()
        _refuse_unconfirmed(user)
        await passkeys.keep_use(transaction, passkey, used)
        more = audit.login(accounts, asked, user, _PROVIDER, Method.PASSKEY, passkey_id=str(passkey.id))
        granted = await accounts.begin_session(transaction, user, Method.PASSKEY, asked.device, more=more)
        found = await users.find_by_id(transaction, user.id)
    return answer(await accounts.session_shown(found or user, granted))


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List the caller's passkeys. Raises: AuthError."""
    refuse_if_off(accounts)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        return answer(passkeys.passkeys_shown(await passkeys.of_user(transaction, caller.user.id)))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Name one of the caller's passkeys. Raises: AuthError."""
    refuse_if_off(accounts)
    name = asked.read(Naming).friendly_name.strip()
    if not 1 <= len(name) <= _MOST_NAME or "\0" in name:
        raise AuthError(Code.VALIDATION_FAILED, f"friendly_name must have 1 to {_MOST_NAME} characters")
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        passkey = await passkeys.rename(transaction, caller.user.id, passkey_id(asked, "id"), name)
        await _record(accounts, transaction, asked, Action.PASSKEY_UPDATED, caller.user, passkey.id)
    return answer(passkeys.passkey_shown(passkey))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Forget one of the caller's passkeys. Raises: AuthError."""
    refuse_if_off(accounts)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        _refuse_low(caller)
        id = passkey_id(asked, "id")
        await passkeys.remove(transaction, caller.user.id, id)
        await _record(accounts, transaction, asked, Action.PASSKEY_DELETED, caller.user, id)
    return Response(204)


def passkey_id(asked: Asked, name: str) -> UUID:
    """Give the passkey that the path names. Raises: AuthError (404)."""
    try:
        return UUID(asked.parameters[name])
    except ValueError:
        raise rejections.NO_PASSKEY() from None


async def _record(
    accounts: Accounts, transaction: Transaction, asked: Asked, action: Action, user: User, id: UUID
) -> None:
    await audit.record(accounts, transaction, asked, action, user, {"passkey_id": str(id)})


async def _registrant(accounts: Accounts, asked: Asked, transaction: Transaction) -> User:
    """Give the caller, who may add a passkey. Raises: AuthError."""
    caller = await present(accounts, asked, transaction)
    if caller.user.is_anonymous:
        raise rejections.NOT_FOR_ANONYMOUS()
    if caller.user.is_sso_user:
        raise AuthError(Code.USER_SSO_MANAGED, "A user of single sign-on cannot have passkeys")
    _refuse_unconfirmed(caller.user)
    _refuse_low(caller)
    return caller.user


async def _locked(transaction: Transaction, credential_id: bytes) -> Passkey:
    """Find a passkey while nothing of its user changes, so that its counter moves on once a time."""
    found = await passkeys.by_credential(transaction, credential_id)
    if found is not None:
        await users.lock(transaction, found.user_id)
        found = await passkeys.by_credential(transaction, credential_id)
    if found is None:
        raise rejections.NO_WEBAUTHN_CREDENTIAL()
    return found


def _used(accounts: Accounts, passkey: Passkey, challenge: bytes, credential: Shown) -> Assertion:
    """Judge a passkey's answer; it must say whose it is, for nobody named a user before. Raises: Unverified."""
    if webauthn_rules.told_user_handle(credential) != webauthn_rules.user_handle(passkey.user_id):
        raise Unverified("the user handle is not that of the passkey's owner")
    party = relying_party(accounts.settings)
    return webauthn_rules.verify_request(party, challenge, credential, passkey.kept)


def _refuse_unconfirmed(user: User) -> None:
    """Raise for who has shown no address to be his own, lest he prepare an account for its true owner."""
    if user.email_confirmed_at is None and user.phone_confirmed_at is None:
        refusal = rejections.EMAIL_NOT_CONFIRMED if user.email else rejections.PHONE_NOT_CONFIRMED
        raise refusal(status=403)


def _refuse_low(caller: Present) -> None:
    used = caller.session.used if caller.session is not None else ()
    if not is_enough(used, has_verified_factor=caller.user.has_verified_factor):
        raise rejections.PASSKEY_NEEDS_AAL2()


def _answered(asked: Asked) -> tuple[str, Shown]:
    body = asked.read(Verification)
    if not body.challenge_id or body.credential is None:
        raise AuthError(Code.VALIDATION_FAILED, "challenge_id and credential are required")
    return body.challenge_id, body.credential


async def _challenge(
    accounts: Accounts,
    transaction: Transaction,
    purpose: Purpose,
    challenge: bytes,
    options: Shown,
    user_id: UUID | None = None,
) -> Response:
    """Keep a challenge and answer with its options."""
    expires_at = accounts.now() + timedelta(seconds=_lasts_s(accounts))
    id = await passkeys.open_challenge(transaction, purpose, challenge, expires_at, user_id)
    return answer({"challenge_id": str(id), "options": options, "expires_at": int(expires_at.timestamp())})


def _lasts_s(accounts: Accounts) -> float:
    return float(accounts.settings.webauthn.challenge_expiry_duration)


async def _take(accounts: Accounts, asked: Asked) -> None:
    limit = Limit("passkey", accounts.settings.rate_limit.passkey)
    await take(accounts.database, limit, asked.device.address)
