"""POST /otp and POST /magiclink: a code by mail or by phone; who is not known yet gets an account.

Source: reference page "auth", sections 5.2 and 5.3.
"""

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import account_limit, take
from workers.auth.accounts.codes.one_time import Kind
from workers.auth.accounts.users import newcomers, users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.accounts.users.users import NewUser
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.letters import Text
from workers.auth.delivery.email.mails import Mail
from workers.auth.flows import captcha
from workers.auth.flows.pkce import parse_challenge
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction


class Options(msgspec.Struct, rename="camel"):
    """What older clients send one level below."""

    redirect_to: str | None = None
    email_redirect_to: str | None = None
    should_create_user: bool | None = None
    data: Metadata | None = None
    channel: str | None = None


class Body(msgspec.Struct):
    """Who wants a code, and what becomes of it."""

    email: str = ""
    phone: str = ""
    create_user: bool | None = None
    data: Metadata | None = None
    channel: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""
    redirect_to: str | None = None
    options: Options = msgspec.field(default_factory=Options)

    @property
    def metadata(self) -> Metadata | None:
        """Give the metadata of a new account."""
        return self.data if self.data is not None else self.options.data

    @property
    def may_create(self) -> bool:
        """Tell whether an account may be made."""
        first = (self.create_user, self.options.should_create_user)
        return next((each for each in first if each is not None), True)


async def otp(accounts: Accounts, asked: Asked) -> Response:
    """Send a code to an address or a number. Raises: AuthError."""
    await take(accounts.database, account_limit(accounts.settings.rate_limit, "otp"), asked.device.address)
    await captcha.check(accounts, asked)
    body = asked.read(Body)
    if body.email and body.phone:
        raise rejections.TWO_ADDRESSES()
    if body.email:
        if body.channel:
            raise AuthError(Code.VALIDATION_FAILED, "Channel should only be specified with Phone OTP")
        return await _by_mail(accounts, asked, body)
    if not body.phone:
        raise rejections.ONE_ADDRESS()
    return await _by_phone(accounts, asked, body)


async def magiclink(accounts: Accounts, asked: Asked) -> Response:
    """Send a link to an address. Raises: AuthError."""
    limit = account_limit(accounts.settings.rate_limit, "magiclink")
    await take(accounts.database, limit, asked.device.address)
    await captcha.check(accounts, asked)
    body = asked.read(Body)
    if not body.email:
        raise rejections.NO_EMAIL(status=422)
    return await _by_mail(accounts, asked, body)


async def _by_mail(accounts: Accounts, asked: Asked, body: Body) -> Response:
    own, client = accounts.settings, asked.device.address
    if not own.email.enable_signup:
        raise rejections.EMAIL_LOGINS_DISABLED()
    if not own.email.magic_link_enabled:
        raise AuthError(Code.EMAIL_PROVIDER_DISABLED, "Login with magic link is disabled")
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    email = normal_email(body.email)
    accounts.outbox.refuse_address(email)
    await accounts.outbox.refuse_unreachable(email)
    options = body.options
    target = target_of(accounts, asked, body.redirect_to, options.redirect_to, options.email_redirect_to)
    new = newcomers.newcomer(accounts, asked.audience(own.jwt_aud), email=email, data=body.metadata)

    async def prepare(transaction: Transaction, user: User) -> Mail:
        is_known = newcomers.has_confirmed(user, new) or newcomers.is_confirmed_at_once(accounts, new)
        await _forget_password(transaction, user, new)
        purpose = letters.MAGIC_LINK if is_known else letters.SIGNUP
        await letters.pace(accounts, transaction, "otp", email, new.aud)
        await _record(accounts, transaction, asked, user, new)
        return await letters.prepare_mail(
            accounts, transaction, user, purpose, target, challenge, client, is_paced=True
        )

    mail, _ = await newcomers.with_account(
        accounts, new, client, lambda: _refuse_new(accounts, body), prepare
    )
    await accounts.outbox.send(mail)
    return answer({})


async def _by_phone(accounts: Accounts, asked: Asked, body: Body) -> Response:
    own, client = accounts.settings, asked.device.address
    if not own.sms.enable_signup:
        raise rejections.UNSUPPORTED_PHONE_PROVIDER()
    phone, channel = normal_phone(body.phone), body.channel or body.options.channel or "sms"
    accounts.outbox.refuse_unsendable(phone, channel)
    new = newcomers.newcomer(accounts, asked.audience(own.jwt_aud), phone=phone, data=body.metadata)

    async def prepare(transaction: Transaction, user: User) -> Text:
        await _forget_password(transaction, user, new)
        await _record(accounts, transaction, asked, user, new)
        await letters.pace(accounts, transaction, "otp", phone, new.aud)
        return await letters.prepare_text(
            accounts, transaction, user, Kind.CONFIRMATION, phone, channel, client, is_paced=True
        )

    text, is_new = await newcomers.with_account(
        accounts, new, client, lambda: _refuse_new(accounts, body), prepare
    )
    message_id = await text.send(accounts)
    return answer({"message_id": message_id} if message_id and not is_new else {})


async def _forget_password(transaction: Transaction, user: User, new: NewUser) -> None:
    """Take the password from an account that nobody has confirmed: who asks for a code did not choose it.

    Else the owner of the address would confirm, with the code, the password of somebody who signed up with the address.
    """
    if user.encrypted_password and not newcomers.has_confirmed(user, new):
        await users.change(transaction, user, users.Change(password_hash=""))


async def _record(
    accounts: Accounts, transaction: Transaction, asked: Asked, user: User, new: NewUser
) -> None:
    """Write that a code was asked for, and that an account was made, if it can be used at once."""
    is_confirmed, traits = newcomers.has_confirmed(user, new), {"provider": new.provider}
    if is_confirmed and user.id == new.id:
        await audit.record(accounts, transaction, asked, Action.USER_SIGNED_UP, user, traits)
    action = Action.USER_RECOVERY_REQUESTED if is_confirmed else Action.USER_CONFIRMATION_REQUESTED
    await audit.record(accounts, transaction, asked, action, user, traits)


def _refuse_new(accounts: Accounts, body: Body) -> None:
    """Raise if who is not known gets no account. Raises: AuthError (422)."""
    if not body.may_create:
        raise rejections.OTP_SIGNUPS_DISABLED()
    if not accounts.settings.enable_signup:
        raise rejections.SIGNUP_DISABLED()
