"""Everything under /passkeys: registration, sign-in, and the caller's list.

Only confirmed users may register: not anonymous ones, and not those of single sign-on. A user with a second factor needs it
to add or delete a passkey; otherwise a passkey would bypass the factor. Source: docs/reference/auth.md, section 10.
"""

from datetime import timedelta
from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.passwords.login_failures import failures_logged
from workers.auth.accounts.users import users
from workers.auth.factors import passkeys
from workers.auth.factors.passkeys import ChallengePurpose, PasskeyRow
from workers.auth.factors.relying_party import credential_owner, relying_party
from workers.auth.flows import captcha
from workers.auth.http.caller import SignedInCaller, find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod, is_enough
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.rate_limits import RequestLimit, count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject
from workers.credentials import webauthn_rules
from workers.credentials.webauthn_credentials import Unverified, WebauthnAssertion
from workers.database.transactions.interactive import Transaction

_MAX_NAME = 120
_UNKNOWN = "the credential is not that of a passkey"
_PROVIDER = "passkey"


class PasskeyVerificationBody(msgspec.Struct):
    """The response of an authenticator."""

    challenge_id: str = ""
    credential: JsonObject | None = None


class PasskeyNameBody(msgspec.Struct):
    """The new name of a passkey."""

    friendly_name: str = ""


def require_passkeys(context: EndpointContext) -> None:
    """Raise unless passkeys are enabled. Raises: AuthError (404)."""
    if not context.settings.passkey.enabled:
        raise rejections.PASSKEYS_DISABLED()


async def registration_options(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the options by which a browser creates a passkey for the caller. Raises: AuthError."""
    require_passkeys(context)
    await _take(context, request)
    settings, challenge = context.settings, webauthn_rules.new_challenge()
    async with context.transaction() as transaction:
        user = await _registrant(context, request, transaction)
        await passkeys.reject_beyond_limit(transaction, user.id, settings.passkey.max_passkeys_per_user)
        options = webauthn_rules.creation_options(
            relying_party(settings),
            credential_owner(user),
            challenge,
            await passkeys.credentials_of(transaction, user.id),
            _lifetime_s(context),
            is_passkey=True,
        )
        return await _challenge(
            context, transaction, ChallengePurpose.REGISTRATION, challenge, options, user.id
        )


async def registration_verify(context: EndpointContext, request: AuthRequest) -> Response:
    """Store the passkey that an authenticator has created. Raises: AuthError."""
    require_passkeys(context)
    id, credential = _read_response(request)
    async with context.transaction() as transaction:
        user = await _registrant(context, request, transaction)
        challenge = await passkeys.take_challenge(
            transaction, id, ChallengePurpose.REGISTRATION, context.now(), user.id
        )
    if challenge is None:
        raise rejections.WEBAUTHN_CHALLENGE_EXPIRED()
    try:
        new = webauthn_rules.verify_creation(relying_party(context.settings), challenge, credential)
    except Unverified as error:
        raise rejections.PASSKEY_UNVERIFIED(reason=error) from None
    async with context.transaction() as transaction:
        await users.lock(transaction, user.id)
        user = await _registrant(context, request, transaction)
        await passkeys.reject_beyond_limit(
            transaction, user.id, context.settings.passkey.max_passkeys_per_user
        )
        passkey = await passkeys.add(transaction, user.id, new)
        await _record(context, transaction, request, AuditAction.PASSKEY_CREATED, user, passkey.id)
    return json_response(passkeys.passkey_json(passkey))


async def authentication_options(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the options by which a browser offers the user's passkeys. Raises: AuthError."""
    require_passkeys(context)
    await _take(context, request)
    await captcha.check(context, request)
    challenge = webauthn_rules.new_challenge()
    options = webauthn_rules.request_options(
        relying_party(context.settings), challenge, [], _lifetime_s(context)
    )
    async with context.transaction() as transaction:
        return await _challenge(context, transaction, ChallengePurpose.AUTHENTICATION, challenge, options)


async def authentication_verify(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a session for a valid assertion of a passkey. Raises: AuthError."""
    require_passkeys(context)
    id, credential = _read_response(request)
    async with context.transaction() as transaction:
        challenge = await passkeys.take_challenge(
            transaction, id, ChallengePurpose.AUTHENTICATION, context.now()
        )
    if challenge is None:
        raise rejections.WEBAUTHN_CHALLENGE_EXPIRED()
    # The challenge is deleted and committed by now, so a failed assertion cannot be tried again.
    async with failures_logged(context, request, _PROVIDER) as attempt, context.transaction() as transaction:
        try:
            passkey = await _locked(transaction, webauthn_rules.credential_id(credential))
            attempt.user = user = await users.find_by_id(transaction, passkey.user_id)
            used = _verify_assertion(context, passkey, challenge, credential)
        except Unverified as error:
            raise rejections.PASSKEY_UNVERIFIED(reason=error) from None
        if user is None or user.deleted_at is not None:
            raise rejections.PASSKEY_UNVERIFIED(reason=_UNKNOWN)
        if user.is_banned(context.now()):
            raise rejections.USER_BANNED()
        _reject_unconfirmed(user)
        await passkeys.keep_use(transaction, passkey, used)
        more = audit.login(
            context, request, user, _PROVIDER, SignInMethod.PASSKEY, passkey_id=str(passkey.id)
        )
        grant = await context.start_session(
            transaction, user, SignInMethod.PASSKEY, request.device, more=more
        )
        current = await users.find_by_id(transaction, user.id)
    return json_response(await context.session_json(current or user, grant))


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """List the caller's passkeys. Raises: AuthError."""
    require_passkeys(context)
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        return json_response(passkeys.passkeys_json(await passkeys.of_user(transaction, caller.user.id)))


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Rename one of the caller's passkeys. Raises: AuthError."""
    require_passkeys(context)
    name = request.read(PasskeyNameBody).friendly_name.strip()
    if not 1 <= len(name) <= _MAX_NAME or "\0" in name:
        raise AuthError(ErrorCode.VALIDATION_FAILED, f"friendly_name must have 1 to {_MAX_NAME} characters")
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        passkey = await passkeys.rename(transaction, caller.user.id, passkey_id(request, "id"), name)
        await _record(context, transaction, request, AuditAction.PASSKEY_UPDATED, caller.user, passkey.id)
    return json_response(passkeys.passkey_json(passkey))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete one of the caller's passkeys. Raises: AuthError."""
    require_passkeys(context)
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        _require_aal(caller)
        id = passkey_id(request, "id")
        await passkeys.remove(transaction, caller.user.id, id)
        await _record(context, transaction, request, AuditAction.PASSKEY_DELETED, caller.user, id)
    return Response(204)


def passkey_id(request: AuthRequest, name: str) -> UUID:
    """Parse the id of the passkey in the path. Raises: AuthError (404)."""
    try:
        return UUID(request.parameters[name])
    except ValueError:
        raise rejections.NO_PASSKEY() from None


async def _record(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    action: AuditAction,
    user: AuthUser,
    id: UUID,
) -> None:
    await audit.record(context, transaction, request, action, user, {"passkey_id": str(id)})


async def _registrant(context: EndpointContext, request: AuthRequest, transaction: Transaction) -> AuthUser:
    """Return the caller if a passkey may be added. Raises: AuthError."""
    caller = await find_caller(context, request, transaction)
    if caller.user.is_anonymous:
        raise rejections.NOT_FOR_ANONYMOUS()
    if caller.user.is_sso_user:
        raise AuthError(ErrorCode.USER_SSO_MANAGED, "A user of single sign-on cannot have passkeys")
    _reject_unconfirmed(caller.user)
    _require_aal(caller)
    return caller.user


async def _locked(transaction: Transaction, credential_id: bytes) -> PasskeyRow:
    """Find a passkey and lock its user, so that its signature counter advances once per use. Raises: Unverified."""
    passkey = await passkeys.by_credential(transaction, credential_id)
    if passkey is not None:
        await users.lock(transaction, passkey.user_id)
        passkey = await passkeys.by_credential(transaction, credential_id)
    if passkey is None:
        raise Unverified(_UNKNOWN)
    return passkey


def _verify_assertion(
    context: EndpointContext, passkey: PasskeyRow, challenge: bytes, credential: JsonObject
) -> WebauthnAssertion:
    """Verify an assertion. It must contain the user handle, because the request names no user. Raises: Unverified."""
    if webauthn_rules.response_user_handle(credential) != webauthn_rules.user_handle(passkey.user_id):
        raise Unverified("the user handle is not that of the passkey's owner")
    party = relying_party(context.settings)
    return webauthn_rules.verify_request(party, challenge, credential, passkey.stored)


def _reject_unconfirmed(user: AuthUser) -> None:
    """Raise unless the user has a confirmed address, so that an attacker cannot prepare an account for the owner of an address."""
    if user.email_confirmed_at is None and user.phone_confirmed_at is None:
        template = rejections.EMAIL_NOT_CONFIRMED if user.email else rejections.PHONE_NOT_CONFIRMED
        raise template(status=403)


def _require_aal(caller: SignedInCaller) -> None:
    used = caller.session.amr if caller.session is not None else ()
    if not is_enough(used, has_verified_factor=caller.user.has_verified_factor):
        raise rejections.PASSKEY_NEEDS_AAL2()


def _read_response(request: AuthRequest) -> tuple[str, JsonObject]:
    body = request.read(PasskeyVerificationBody)
    if not body.challenge_id or body.credential is None:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "challenge_id and credential are required")
    return body.challenge_id, body.credential


async def _challenge(
    context: EndpointContext,
    transaction: Transaction,
    purpose: ChallengePurpose,
    challenge: bytes,
    options: JsonObject,
    user_id: UUID | None = None,
) -> Response:
    """Store a challenge and return its options."""
    expires_at = context.now() + timedelta(seconds=_lifetime_s(context))
    id = await passkeys.open_challenge(transaction, purpose, challenge, expires_at, user_id)
    return json_response(
        {"challenge_id": str(id), "options": options, "expires_at": int(expires_at.timestamp())}
    )


def _lifetime_s(context: EndpointContext) -> float:
    return float(context.settings.webauthn.challenge_expiry_duration)


async def _take(context: EndpointContext, request: AuthRequest) -> None:
    limit = RequestLimit("passkey", context.settings.rate_limit.passkey)
    await count_request(context.database, limit, request.device.address)
