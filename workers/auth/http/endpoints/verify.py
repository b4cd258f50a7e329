"""GET and POST /verify: a link that was followed, a code that was typed. Source: reference page "auth", 5.7 and 5.8.

A link always leads to its target, with a session, a code (PKCE), a message or a refusal; HEAD looks at nothing. Where
the settings want a page of confirmation, GET shows a button that POSTs, so that whoever only looks at links, as mail
scanners do, uses nothing up. A link of a PKCE flow gives a session to nobody who has not the flow's verifier; its
`token_hash` posted by an application's server does, as the official clients expect.
"""

from dataclasses import dataclass

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes import codes, one_time
from workers.auth.accounts.codes.confirming import confirm
from workers.auth.accounts.codes.limits import take, verify_limit
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, Kind, Token
from workers.auth.accounts.passwords import login_failures
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.sessions.sessions import Granted
from workers.auth.accounts.users import users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import landing
from workers.auth.delivery.email.user_notices import tell_changes
from workers.auth.flows import flow_state
from workers.auth.http.endpoints import verify_page
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError, refusal_of
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import User
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.interactive import Transaction
from workers.database.session import Statement

_OF_MAIL: dict[str, tuple[Kind, ...]] = {
    "signup": (Kind.CONFIRMATION,),
    "invite": (Kind.CONFIRMATION,),
    "recovery": (Kind.RECOVERY,),
    "magiclink": (Kind.RECOVERY,),
    "email": (Kind.CONFIRMATION, Kind.RECOVERY),
    "email_change": EMAIL_CHANGE,
}
_OF_PHONE: dict[str, tuple[Kind, ...]] = {"sms": (Kind.CONFIRMATION,), "phone_change": (Kind.PHONE_CHANGE,)}
_METHODS = {
    Kind.CONFIRMATION: (Method.EMAIL_SIGNUP, Method.INVITE),
    Kind.RECOVERY: (Method.MAGICLINK, Method.RECOVERY),
    Kind.EMAIL_CHANGE_CURRENT: (Method.EMAIL_CHANGE,),
    Kind.EMAIL_CHANGE_NEW: (Method.EMAIL_CHANGE,),
}
_FIRST = {"invite": Method.INVITE, "recovery": Method.RECOVERY}
_HALF = "Confirmation link accepted. Please proceed to confirm link sent to the other email"


class Body(msgspec.Struct):
    """A typed code with its address, or the token of a link."""

    type: str = ""
    token: str = ""
    token_hash: str = ""
    email: str = ""
    phone: str = ""
    redirect_to: str = ""


@dataclass(frozen=True, slots=True)
class Entered:
    """What a code led to: a session, the code of a PKCE flow, or neither where another address has to confirm too."""

    user: User
    granted: Granted | None = None
    auth_code: str = ""


async def follow(accounts: Accounts, asked: Asked) -> Response:
    """Follow a link, or show the page that asks for it. Raises: AuthError (400) for what is no link."""
    _refuse_incomplete(asked.query("type"), asked.query("token"))
    if accounts.settings.email.confirmation_page:
        return verify_page.page(asked)
    return await _followed(accounts, asked)


async def look(accounts: Accounts, asked: Asked) -> Response:
    """Answer HEAD: the link is left as it is."""
    del accounts, asked
    return Response(200, [("cache-control", "no-store")])


async def verify(accounts: Accounts, asked: Asked) -> Response:
    """Give a session for a code. Raises: AuthError."""
    if asked.query(verify_page.PRESSED):
        _refuse_incomplete(asked.query("type"), asked.query("token"))
        return await _followed(accounts, asked)
    await take(accounts.database, verify_limit(accounts.settings.rate_limit), asked.device.address)
    body = asked.read(Body)
    if not body.type:
        raise rejections.NO_VERIFY_TYPE()
    by_hash = bool(body.token_hash)
    token = await (_of_hash if by_hash else _of_typed)(accounts, asked, body)
    entered = await _enter(accounts, asked, token, rejections.BAD_LINK if by_hash else rejections.BAD_CODE)
    if entered.granted is None:
        return answer({"msg": _HALF, "code": "200"})
    return answer(await accounts.session_shown(entered.user, entered.granted))


async def _followed(accounts: Accounts, asked: Asked) -> Response:
    type, link = asked.query("type"), asked.query("token")
    target, is_pkce = accounts.redirects.target([asked.query("redirect_to")]), codes.is_pkce(link)
    try:
        await take(accounts.database, verify_limit(accounts.settings.rate_limit), asked.device.address)
        if type not in _OF_MAIL:
            raise rejections.BAD_VERIFY_TYPE()
        token = await _found(accounts, link, type)
        entered = await _enter(
            accounts, asked, token, rejections.BAD_LINK, flow_type=type if is_pkce else None
        )
        if entered.granted is not None:
            session = await accounts.session_shown(entered.user, entered.granted)
            return landing.redirect(landing.granted(target, session, {"type": type}))
    except AuthError as error:
        return landing.redirect(landing.failed(target, error, in_query=is_pkce))
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        return landing.redirect(landing.failed(target, refusal_of(error), in_query=is_pkce))
    if entered.auth_code:
        return landing.redirect(landing.with_code(target, entered.auth_code))
    return landing.redirect(landing.told(target, _HALF, is_pkce=is_pkce))


async def _of_hash(accounts: Accounts, asked: Asked, body: Body) -> Token:
    """Find the code whose link an application took apart."""
    del asked
    if body.token or body.email or body.phone or body.redirect_to:
        raise rejections.ONLY_TOKEN_HASH()
    if body.type not in _OF_MAIL:
        raise rejections.BAD_VERIFY_TYPE()
    return await _found(accounts, body.token_hash, body.type)


async def _of_typed(accounts: Accounts, asked: Asked, body: Body) -> Token:
    """Find the code that somebody typed."""
    if not body.token:
        raise rejections.NO_VERIFY_TOKEN()
    if bool(body.email) == bool(body.phone):
        raise (rejections.TWO_ADDRESSES if body.email else rejections.ONE_ADDRESS)()
    address = normal_email(body.email) if body.email else normal_phone(body.phone)
    kinds = (_OF_MAIL if body.email else _OF_PHONE).get(body.type)
    if kinds is None:
        raise rejections.BAD_VERIFY_TYPE()
    aud = asked.audience(accounts.settings.jwt_aud)
    client = asked.device.address
    token = await one_time.try_code(accounts, kinds, address, body.token, aud, client=client)
    if token is None:
        async with accounts.transaction() as transaction:
            find, provider = (users.find_by_email, "email") if body.email else (users.find_by_phone, "phone")
            user = await find(transaction, address, aud)
            await login_failures.note_wrong(accounts, transaction, asked, user, provider)
        raise rejections.BAD_CODE()
    return token


async def _found(accounts: Accounts, link: str, type: str) -> Token:
    async with accounts.transaction() as transaction:
        token = await one_time.find_by_link(accounts, transaction, link, _OF_MAIL[type])
    if token is None:
        raise rejections.BAD_LINK()
    return token


async def _enter(
    accounts: Accounts,
    asked: Asked,
    token: Token,
    refusal: rejections.Refusal,
    flow_type: str | None = None,
) -> Entered:
    """Use a code up, and tell the user of an address that has changed by it."""
    before, entered = await _used_up(accounts, asked, token, refusal, flow_type)
    await tell_changes(accounts, before, entered.user)
    return entered


async def _used_up(
    accounts: Accounts, asked: Asked, token: Token, refusal: rejections.Refusal, flow_type: str | None
) -> tuple[User, Entered]:
    """Use a code up: confirm, and begin a session or complete the PKCE flow of `flow_type`. All of it, or nothing.

    Give the user as he was before, too.
    """
    provider = "phone" if token.is_of_phone else "email"
    async with (
        login_failures.noted(accounts, asked, provider) as trying,
        accounts.transaction() as transaction,
    ):
        trying.user = user = await one_time.take(transaction, token)
        if user is None:
            raise refusal()
        if user.is_banned(accounts.now()):
            raise rejections.USER_BANNED()
        done = await confirm(accounts, transaction, user, token)
        if done.is_half:
            return user, Entered(done.user)
        trail = _trail(accounts, asked, user, done.user, token, provider)
        if flow_type is not None:
            if trail:
                await transaction.run(*trail)
            code = await _complete(accounts, transaction, done.user, token, flow_type)
            return user, Entered(done.user, auth_code=code)
        more = (*trail, *audit.login(accounts, asked, done.user, provider, Method.OTP))
        granted = await accounts.begin_session(transaction, done.user, Method.OTP, asked.device, more=more)
        found = await users.find_by_id(transaction, done.user.id)
    return user, Entered(found or done.user, granted)


def _trail(
    accounts: Accounts, asked: Asked, before: User, user: User, token: Token, provider: str
) -> tuple[Statement, ...]:
    """Give what the audit log says of a confirmation: an account can be used from now on, or has another address."""
    if token.token_type not in (Kind.CONFIRMATION, Kind.RECOVERY):
        action = Action.USER_MODIFIED
    elif before.confirmed_at is not None or before.last_sign_in_at is not None:
        return ()
    else:
        action = Action.INVITE_ACCEPTED if before.invited_at is not None else Action.USER_SIGNED_UP
    return audit.entry(accounts, asked, action, user, {"provider": provider})


async def _complete(accounts: Accounts, transaction: Transaction, user: User, token: Token, type: str) -> str:
    """Complete the flow that waits for a link, and give its code."""
    methods = _METHODS[token.token_type]
    for method in sorted(methods, key=lambda each: each is not _FIRST.get(type)):
        flow = await flow_state.waiting(transaction, user.id, method.value)
        if flow is not None:
            return await flow_state.complete(transaction, flow, user.id, accounts.vault)
    raise rejections.FLOW_STATE_NOT_FOUND()


def _refuse_incomplete(type: str, token: str) -> None:
    if not type:
        raise rejections.NO_VERIFY_TYPE()
    if not token:
        raise rejections.NO_VERIFY_TOKEN()
