"""grant_type=password: sign-in with an address and a password. Source: docs/reference/auth.md, section 4.2.

Neither response nor duration reveals whether an address is registered: a hash is computed in any case, and the same
statements run. The path: check the counters of wrong passwords and read the user (one round trip), verify the hash in a
thread, call the hook, start the session (one round trip).
"""

import msgspec

from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes.guessing import (
    PasswordAttempt,
    is_wait_error,
    password_attempt,
    reject_while_waiting,
)
from workers.auth.accounts.codes.networks import network_hash
from workers.auth.accounts.passwords.leaked import weakness_at_sign_in
from workers.auth.accounts.passwords.login_failures import failures_logged, log_wrong_secret
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.accounts.users import users
from workers.auth.delivery.hooks.points import HookDecision
from workers.auth.flows import captcha
from workers.auth.http.context import EndpointContext
from workers.auth.http.token_response import TokenResponse
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import decode_first

_REJECTED = "Further password verification attempts will be rejected."


class PasswordGrantBody(SecretRecord, msgspec.Struct):
    """The body of a sign-in."""

    email: str = ""
    phone: str = ""
    password: str = ""

    @property
    def provider(self) -> str:
        """Return the provider of the identity that signs in."""
        return "email" if self.email else "phone"


async def password(context: EndpointContext, request: AuthRequest) -> TokenResponse:
    """Return a session for the password of an address. Raises: AuthError."""
    await captcha.check(context, request)
    body = request.read(PasswordGrantBody)
    user, guess = await _user_of(context, request, body)
    # Timing: without a user the same hash is computed.
    verdict = await context.hashing.verify(body.password, user.encrypted_password if user else None)
    await _settle(context, request, body.provider, user, guess, is_right=verdict.is_right)
    if user is None:
        raise rejections.WRONG_CREDENTIALS()
    async with failures_logged(context, request, body.provider) as trying:
        trying.user = user
        _reject_not_ready(context, user, body)
    renewed = await context.hashing.renew(body.password) if verdict.needs_rehash else None
    grant, user = await _enter(context, request, body.provider, user, guess, renewed)
    session = await context.session_json(user, grant)
    weakness = await weakness_at_sign_in(context, body.password)
    if weakness is not None:
        session["weak_password"] = {"message": weakness.message, "reasons": list(weakness.reasons)}
    return TokenResponse(session, grant)


def _reject_not_ready(context: EndpointContext, user: AuthUser, body: PasswordGrantBody) -> None:
    """Raise if the user may not sign in although the password is correct. Raises: AuthError (400)."""
    if user.is_banned(context.now()):
        raise rejections.USER_BANNED()
    if body.email and user.email_confirmed_at is None:
        raise rejections.EMAIL_NOT_CONFIRMED()
    if body.phone and user.phone_confirmed_at is None:
        raise rejections.PHONE_NOT_CONFIRMED()


async def _enter(
    context: EndpointContext,
    request: AuthRequest,
    provider: str,
    user: AuthUser,
    guess: PasswordAttempt,
    renewed: str | None,
) -> tuple[SessionGrant, AuthUser]:
    """Start the session, with all writes in one round trip: after a hash the CPU caches are cold, and each round trip costs more
    than its work.

    Raises: AuthError (429) if there were too many concurrent wrong passwords.
    """
    before = (guess.passing, *([] if renewed is None else [users.renew_hash(user, renewed)]))
    more = audit.login(context, request, user, provider, SignInMethod.PASSWORD)
    try:
        return await context.start_session_alone(
            user, SignInMethod.PASSWORD, request.device, before=before, more=more
        )
    except DatabaseError as error:
        if not is_wait_error(error):
            raise
    waits = await context.run(guess.wait)
    reject_while_waiting(waits[0])
    raise rejections.OVER_REQUEST_RATE(retry_after_s=1)


async def _settle(
    context: EndpointContext,
    request: AuthRequest,
    provider: str,
    user: AuthUser | None,
    guess: PasswordAttempt,
    *,
    is_right: bool,
) -> None:
    """Call the hook, and count a failed attempt. Raises: AuthError unless the password is correct and not rejected by the hook."""
    decision = HookDecision()
    if user is not None and user.encrypted_password:
        decision = await context.hooks.password_verification_attempt(
            user.id, is_valid=is_right, address=request.device.address
        )
        if decision.is_rejected and decision.should_logout_user:
            async with context.transaction() as transaction:
                traits = {"scope": "global", "reason": "hook"}
                more = audit.entry(context, request, AuditAction.LOGOUT, user, traits)
                await sessions.end_all(transaction, user.id, more)
    if is_right and user is not None and not decision.is_rejected:
        return
    async with context.transaction() as transaction:
        await guess.failed(transaction)
        await log_wrong_secret(context, transaction, request, user, provider)
    if decision.is_rejected:
        raise AuthError(ErrorCode.INVALID_CREDENTIALS, decision.message or _REJECTED)
    raise rejections.WRONG_CREDENTIALS()


async def _user_of(
    context: EndpointContext, request: AuthRequest, body: PasswordGrantBody
) -> tuple[AuthUser | None, PasswordAttempt]:
    """Find the user of the address, unless there were too many wrong passwords. Raises: AuthError."""
    settings = context.settings
    if bool(body.email) == bool(body.phone):
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, "Only an email address or phone number should be provided on login."
        )
    aud = request.audience(settings.jwt_aud)
    if body.email and not settings.email.enable_signup:
        raise rejections.EMAIL_LOGINS_DISABLED()
    if body.phone and not settings.sms.enable_signup:
        raise rejections.PHONE_LOGINS_DISABLED()
    try:
        typed = normal_email(body.email) if body.email else normal_phone(body.phone)
        is_address = True
    except AuthError:  # malformed, so not registered: go on with the same work
        typed, is_address = body.email or body.phone, False
    client = request.device.address
    network = network_hash(context.code_key, aud, typed, client)
    guess = password_attempt(context.code_key, body.provider, aud, typed, address=client, network=network)
    if not is_address:
        reject_while_waiting((await context.run(guess.wait))[0])
        return None, guess
    named = users.password_by_email if body.email else users.password_by_phone
    waits, rows = await context.run(guess.wait, named(typed, aud))
    reject_while_waiting(waits)
    return decode_first(rows, AuthUser), guess
