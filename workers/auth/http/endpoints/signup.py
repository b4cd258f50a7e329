"""POST /signup: an account of an address and a password, or an anonymous one. Source: reference "auth", 4.1 and 4.5.

Where addresses must be confirmed, nobody learns from the answer whether one is registered: for an address that is
confirmed already it tells of a user who does not exist.
"""

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import account_limit, anonymous_limit, take
from workers.auth.accounts.codes.one_time import Kind
from workers.auth.accounts.passwords.leaked import refuse_weak
from workers.auth.accounts.passwords.strength import refuse_unusable
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import newcomers, users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.accounts.users.shown import Shown, user_shown
from workers.auth.accounts.users.users import NewUser
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.letters import Text
from workers.auth.delivery.email.mails import Mail
from workers.auth.flows import captcha
from workers.auth.flows.pkce import Challenge, parse_challenge
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction


class Body(msgspec.Struct):
    """What a sign-up brings."""

    email: str = ""
    phone: str = ""
    password: str | None = None
    data: Metadata | None = None
    channel: str = "sms"
    code_challenge: str = ""
    code_challenge_method: str = ""


async def signup(accounts: Accounts, asked: Asked) -> Response:
    """Make an account, and its first session or the message that confirms its address.

    Raises: AuthError as the table of section 4.1 lists them.
    """
    own = accounts.settings
    if not own.enable_signup:
        raise rejections.SIGNUP_DISABLED()
    body = asked.read(Body)
    is_anonymous = not body.email and not body.phone
    limit = anonymous_limit(own.rate_limit) if is_anonymous else account_limit(own.rate_limit, "signup")
    await take(accounts.database, limit, asked.device.address)
    await captcha.check(accounts, asked)
    if is_anonymous:
        return answer(await _anonymous(accounts, asked, body))
    if body.email and body.phone:
        raise AuthError(
            Code.VALIDATION_FAILED, "Only an email address or phone number should be provided on signup."
        )
    if not body.password:
        raise rejections.NO_PASSWORD()
    refuse_unusable(body.password, accounts.strength)
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    email, phone = _address(accounts, body)
    if email and own.email.enable_confirmations:
        await accounts.outbox.refuse_unreachable(email)
    await refuse_weak(accounts, body.password)
    # Hashed for addresses that are known as well, so that the time does not tell them from others.
    digest = await accounts.hashing.hash(body.password)
    new = newcomers.newcomer(
        accounts,
        asked.audience(own.jwt_aud),
        email=email,
        phone=phone,
        password_hash=digest,
        data=body.data,
    )
    if newcomers.is_confirmed_at_once(accounts, new):
        return answer(await _at_once(accounts, asked, new))
    return answer(await _to_be_confirmed(accounts, asked, new, body, challenge))


def _address(accounts: Accounts, body: Body) -> tuple[str, str]:
    own, outbox = accounts.settings, accounts.outbox
    if body.email:
        if not own.email.enable_signup:
            raise AuthError(Code.EMAIL_PROVIDER_DISABLED, "Email signups are disabled", 400)
        email = normal_email(body.email)
        if own.email.enable_confirmations:
            outbox.refuse_address(email)
        return email, ""
    if not own.sms.enable_signup:
        raise AuthError(Code.PHONE_PROVIDER_DISABLED, "Phone signups are disabled", 400)
    phone = normal_phone(body.phone)
    if own.sms.enable_confirmations:
        outbox.refuse_unsendable(phone, body.channel)
    return "", phone


async def _at_once(accounts: Accounts, asked: Asked, new: NewUser) -> Shown:
    """Make an account whose address counts as confirmed, and its session."""

    async def register(transaction: Transaction, user: User) -> User | None:
        is_new = user.id == new.id
        action = Action.USER_SIGNED_UP if is_new else Action.USER_REPEATED_SIGN_UP
        await audit.record(accounts, transaction, asked, action, user, {"provider": new.provider})
        return user if is_new else None

    def is_welcome() -> None:
        pass

    user, _ = await newcomers.with_account(accounts, new, asked.device.address, is_welcome, register)
    if user is None:
        raise rejections.ALREADY_REGISTERED()
    async with accounts.transaction() as transaction:
        more = audit.login(accounts, asked, user, new.provider, Method.PASSWORD)
        granted = await accounts.begin_session(transaction, user, Method.PASSWORD, asked.device, more=more)
        found = await users.find_by_id(transaction, user.id)
    return await accounts.session_shown(found or user, granted)


async def _to_be_confirmed(
    accounts: Accounts, asked: Asked, new: NewUser, body: Body, challenge: Challenge | None
) -> Shown:
    """Make an account, unless there is one, and send what confirms its address."""
    client, target, traits = asked.device.address, target_of(accounts, asked), {"provider": new.provider}

    async def prepare(transaction: Transaction, user: User) -> tuple[User, Mail | Text] | None:
        address = new.email or new.phone
        await letters.pace(accounts, transaction, "signup", address, new.aud)
        if newcomers.has_confirmed(user, new):
            await letters.pretend(accounts, transaction, address)
            await audit.record(accounts, transaction, asked, Action.USER_REPEATED_SIGN_UP, user, traits)
            return None
        message: Mail | Text
        if new.email:
            message = await letters.prepare_mail(
                accounts, transaction, user, letters.SIGNUP, target, challenge, client, is_paced=True
            )
        else:
            message = await letters.prepare_text(
                accounts, transaction, user, Kind.CONFIRMATION, new.phone, body.channel, client, is_paced=True
            )
        await audit.record(accounts, transaction, asked, Action.USER_CONFIRMATION_REQUESTED, user, traits)
        return await users.find_by_id(transaction, user.id) or user, message

    def is_welcome() -> None:
        pass

    prepared, _ = await newcomers.with_account(accounts, new, client, is_welcome, prepare)
    if prepared is None:
        return _pretended(accounts, new, body.data or {})
    user, message = prepared
    await (accounts.outbox.send(message) if isinstance(message, Mail) else message.send(accounts))
    if (
        user.invited_at is not None
    ):  # what an administrator wrote of him is for nobody who only knows his address
        user = msgspec.structs.replace(user, raw_user_meta_data={}, identities=())
    return user_shown(user)


def _pretended(accounts: Accounts, new: NewUser, data: Metadata) -> Shown:
    """Give a user who does not exist, as a new one would look but for its identities and its role."""
    now = accounts.now()
    user = User(
        id=new.id,
        aud=new.aud,
        role="",
        email=new.email,
        phone=new.phone,
        confirmation_sent_at=now,
        raw_app_meta_data=new.app_metadata,
        raw_user_meta_data=data,
        created_at=now,
        updated_at=now,
    )
    return user_shown(user)


async def _anonymous(accounts: Accounts, asked: Asked, body: Body) -> Shown:
    own, client = accounts.settings, asked.device.address
    if not own.enable_anonymous_sign_ins:
        raise rejections.ANONYMOUS_DISABLED()
    new = NewUser(
        aud=asked.audience(own.jwt_aud),
        role=own.jwt_default_group_name,
        user_metadata=body.data or {},
        is_anonymous=True,
    )
    await accounts.hooks.before_user_created(new, client)
    async with accounts.transaction() as transaction:
        made = await users.make(transaction, new)
        await audit.record(
            accounts, transaction, asked, Action.USER_SIGNED_UP, made, {"provider": new.provider}
        )
    await accounts.hooks.after_user_created(made, client)
    async with accounts.transaction() as transaction:
        more = audit.login(accounts, asked, made, new.provider, Method.ANONYMOUS)
        granted = await accounts.begin_session(transaction, made, Method.ANONYMOUS, asked.device, more=more)
        found = await users.find_by_id(transaction, made.id)
    return await accounts.session_shown(found or made, granted)
