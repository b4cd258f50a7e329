"""grant_type=password. Source: reference page "auth", section 4.2."""

import msgspec

from workers.auth import audit
from workers.auth.accounts.codes.entered import Entered
from workers.auth.accounts.codes.guessing import Guess, guess_at, has_failed, heed
from workers.auth.accounts.codes.networks import network_hash
from workers.auth.accounts.passwords.leaked import weakness_at_sign_in
from workers.auth.accounts.passwords.login_failures import note_wrong, noted
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.sessions.sessions import Granted
from workers.auth.accounts.users import users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.hooks.points import Decision
from workers.auth.flows import captcha
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.database.errors import DatabaseError
from workers.database.interactive import first

_REJECTED = "Further password verification attempts will be rejected."


class Body(msgspec.Struct):
    """Body of a sign-in."""

    email: str = ""
    phone: str = ""
    password: str = ""

    @property
    def provider(self) -> str:
        """Give the name of the identity that is used."""
        return "email" if self.email else "phone"


async def password(accounts: Accounts, asked: Asked) -> Entered:
    """Give a session to who knows the password of an address. Raises: AuthError."""
    await captcha.check(accounts, asked)
    body = asked.read(Body)
    user, guess = await _user_of(accounts, asked, body)
    verdict = await accounts.hashing.verify(body.password, user.encrypted_password if user else None)
    await _settle(accounts, asked, body.provider, user, guess, is_right=verdict.is_right)
    if user is None:
        raise rejections.WRONG_CREDENTIALS()
    async with noted(accounts, asked, body.provider) as trying:
        trying.user = user
        _refuse_unready(accounts, user, body)
    renewed = await accounts.hashing.hash(body.password) if verdict.wants_rehash else None
    granted, user = await _enter(accounts, asked, body.provider, user, guess, renewed)
    shown = await accounts.session_shown(user, granted)
    weakness = await weakness_at_sign_in(accounts, body.password)
    if weakness is not None:
        shown["weak_password"] = {"message": weakness.message, "reasons": list(weakness.reasons)}
    return Entered(shown, granted)


def _refuse_unready(accounts: Accounts, user: User, body: Body) -> None:
    """Raise if the user may not enter now, although the password is right. Raises: AuthError (400)."""
    if user.is_banned(accounts.now()):
        raise rejections.USER_BANNED(status=400)
    if body.email and user.email_confirmed_at is None:
        raise rejections.EMAIL_NOT_CONFIRMED()
    if body.phone and user.phone_confirmed_at is None:
        raise rejections.PHONE_NOT_CONFIRMED()


async def _enter(
    accounts: Accounts, asked: Asked, provider: str, user: User, guess: Guess, renewed: str | None
) -> tuple[Granted, User]:
    """Begin the session, all in one write: after a hash the caches are cold, and each round trip costs more than its work.

    Raises: AuthError (429) if there were too many wrong passwords meanwhile.
    """
    before = (guess.passing, *([] if renewed is None else [users.renew_hash(user, renewed)]))
    more = audit.login(accounts, asked, user, provider, Method.PASSWORD)
    try:
        return await accounts.begin_session_alone(
            user, Method.PASSWORD, asked.device, before=before, more=more
        )
    except DatabaseError as error:
        if not has_failed(error):
            raise
    waits = await accounts.run(guess.wait)
    heed(waits[0])
    raise rejections.OVER_REQUEST_RATE(retry_after_s=1)


async def _settle(
    accounts: Accounts, asked: Asked, provider: str, user: User | None, guess: Guess, *, is_right: bool
) -> None:
    """Let the project have its say, and count a wrong try. Raises: AuthError unless the password is right and welcome."""
    decision = Decision()
    if user is not None and user.encrypted_password:
        decision = await accounts.hooks.password_verification_attempt(
            user.id, is_valid=is_right, address=asked.device.address
        )
        if decision.is_rejected and decision.should_logout_user:
            async with accounts.transaction() as transaction:
                traits = {"scope": "global", "reason": "hook"}
                more = audit.entry(accounts, asked, Action.LOGOUT, user, traits)
                await sessions.end_all(transaction, user.id, more)
    if is_right and user is not None and not decision.is_rejected:
        return
    async with accounts.transaction() as transaction:
        await guess.failed(transaction)
        await note_wrong(accounts, transaction, asked, user, provider)
    if decision.is_rejected:
        raise AuthError(Code.INVALID_CREDENTIALS, decision.message or _REJECTED)
    raise rejections.WRONG_CREDENTIALS()


async def _user_of(accounts: Accounts, asked: Asked, body: Body) -> tuple[User | None, Guess]:
    """Find whose password it may be, unless there were too many wrong ones. Raises: AuthError."""
    own = accounts.settings
    if bool(body.email) == bool(body.phone):
        raise AuthError(
            Code.VALIDATION_FAILED, "Only an email address or phone number should be provided on login."
        )
    aud = asked.audience(own.jwt_aud)
    if body.email and not own.email.enable_signup:
        raise rejections.EMAIL_LOGINS_DISABLED()
    if body.phone and not own.sms.enable_signup:
        raise rejections.PHONE_LOGINS_DISABLED()
    try:
        typed = normal_email(body.email) if body.email else normal_phone(body.phone)
        is_address = True
    except AuthError:  # nobody has such an address
        typed, is_address = body.email or body.phone, False
    client = asked.device.address
    known = network_hash(accounts.code_key, aud, typed, client)
    guess = guess_at(accounts.code_key, body.provider, aud, typed, address=client, network=known)
    if not is_address:
        heed((await accounts.run(guess.wait))[0])
        return None, guess
    named = users.password_by_email if body.email else users.password_by_phone
    waits, rows = await accounts.run(guess.wait, named(typed, aud))
    heed(waits)
    return first(rows, User), guess
