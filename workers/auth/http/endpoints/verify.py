"""GET, HEAD and POST /verify, POST /verify/continue: use up a link or a typed code. Source: docs/reference/auth.md, sections 5.7 and 5.8.

A complete link redirects to its target, with a session, a code (PKCE), a message or an error. A link without type or token is
answered with 400. HEAD changes nothing. If the settings enable a confirmation page, GET returns a page with a button that posts
to /verify/continue, so that mail scanners, which follow links, do not use them up. A link of a PKCE flow leads to a session only with the flow's verifier; its `token_hash` posted by an
application's server does without, as the official clients expect.
"""

from dataclasses import dataclass, field

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit, flow_state
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.one_time import EMAIL_CHANGE, CodeKind, OneTimeToken
from workers.auth.accounts.passwords import login_failures
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.accounts.users import users
from workers.auth.delivery.user_notices import send_change_notices
from workers.auth.flows.confirmation import confirm
from workers.auth.http import landing
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints import verify_page
from workers.auth.model import codes, rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.claims import SignInMethod
from workers.auth.model.errors import AuthError, error_from_database
from workers.auth.model.rate_limits import count_request, verify_limit
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement

_OF_MAIL: dict[str, tuple[CodeKind, ...]] = {
    "signup": (CodeKind.CONFIRMATION,),
    "invite": (CodeKind.CONFIRMATION,),
    "recovery": (CodeKind.RECOVERY,),
    "magiclink": (CodeKind.RECOVERY,),
    "email": (CodeKind.CONFIRMATION, CodeKind.RECOVERY),
    "email_change": EMAIL_CHANGE,
}
_OF_PHONE: dict[str, tuple[CodeKind, ...]] = {
    "sms": (CodeKind.CONFIRMATION,),
    "phone_change": (CodeKind.PHONE_CHANGE,),
}
_METHODS = {
    CodeKind.CONFIRMATION: (SignInMethod.EMAIL_SIGNUP, SignInMethod.INVITE),
    CodeKind.RECOVERY: (SignInMethod.MAGICLINK, SignInMethod.RECOVERY),
    CodeKind.EMAIL_CHANGE_CURRENT: (SignInMethod.EMAIL_CHANGE,),
    CodeKind.EMAIL_CHANGE_NEW: (SignInMethod.EMAIL_CHANGE,),
}
_FIRST = {"invite": SignInMethod.INVITE, "recovery": SignInMethod.RECOVERY}
_OTHER_ADDRESS_PENDING = "Confirmation link accepted. Please proceed to confirm link sent to the other email"


class VerifyBody(SecretRecord, msgspec.Struct):
    """A typed code with its address, or the token of a link."""

    type: str = ""
    token: str = ""
    token_hash: str = ""
    email: str = ""
    phone: str = ""
    redirect_to: str = ""


@dataclass(frozen=True, slots=True)
class CodeSignIn:
    """The result of a code: a session, the code of a PKCE flow, or neither if another address must confirm too."""

    user: AuthUser
    grant: SessionGrant | None = None
    auth_code: str = field(default="", repr=False)


async def follow(context: EndpointContext, request: AuthRequest) -> Response:
    """Use up a link, or return the confirmation page. Raises: AuthError (400) if the link is incomplete."""
    _reject_incomplete(request.query("type"), request.query("token"))
    if context.settings.email.confirmation_page:
        return verify_page.page(request)
    return await _use_link(context, request)


async def head(context: EndpointContext, request: AuthRequest) -> Response:
    """Answer HEAD without using up the link."""
    del context, request
    return Response(200, [("cache-control", "no-store")])


async def confirm_page(context: EndpointContext, request: AuthRequest) -> Response:
    """Use up a link whose confirmation page was answered. Raises: AuthError (400) if the link is incomplete."""
    _reject_incomplete(request.query("type"), request.query("token"))
    return await _use_link(context, request)


async def verify(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a session for a code. Raises: AuthError."""
    await count_request(context.database, verify_limit(context.settings.rate_limit), request.device.address)
    body = request.read(VerifyBody)
    if not body.type:
        raise rejections.NO_VERIFY_TYPE()
    by_hash = bool(body.token_hash)
    token = await (_token_by_hash if by_hash else _token_by_code)(context, request, body)
    entered = await _enter(context, request, token, rejections.BAD_LINK if by_hash else rejections.BAD_CODE)
    if entered.grant is None:
        return json_response({"msg": _OTHER_ADDRESS_PENDING, "code": "200"})
    return json_response(await context.session_json(entered.user, entered.grant))


async def _use_link(context: EndpointContext, request: AuthRequest) -> Response:
    type, link = request.query("type"), request.query("token")
    target, is_pkce = context.redirects.target([request.query("redirect_to")]), codes.is_pkce(link)
    try:
        await count_request(
            context.database, verify_limit(context.settings.rate_limit), request.device.address
        )
        if type not in _OF_MAIL:
            raise rejections.BAD_VERIFY_TYPE()
        token = await _token_of_link(context, link, type)
        entered = await _enter(
            context, request, token, rejections.BAD_LINK, flow_type=type if is_pkce else None
        )
        if entered.grant is not None:
            session = await context.session_json(entered.user, entered.grant)
            return landing.redirect(landing.session_url(target, session, {"type": type}))
    except AuthError as error:
        return landing.redirect(landing.error_url(target, error, in_query=is_pkce))
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        return landing.redirect(landing.error_url(target, error_from_database(error), in_query=is_pkce))
    if entered.auth_code:
        return landing.redirect(landing.code_url(target, entered.auth_code))
    return landing.redirect(landing.message_url(target, _OTHER_ADDRESS_PENDING, is_pkce=is_pkce))


async def _token_by_hash(context: EndpointContext, request: AuthRequest, body: VerifyBody) -> OneTimeToken:
    """Find the code by the token hash of its link."""
    del request
    if body.token or body.email or body.phone or body.redirect_to:
        raise rejections.ONLY_TOKEN_HASH()
    if body.type not in _OF_MAIL:
        raise rejections.BAD_VERIFY_TYPE()
    return await _token_of_link(context, body.token_hash, body.type)


async def _token_by_code(context: EndpointContext, request: AuthRequest, body: VerifyBody) -> OneTimeToken:
    """Find the code that was typed."""
    if not body.token:
        raise rejections.NO_VERIFY_TOKEN()
    if bool(body.email) == bool(body.phone):
        raise (rejections.TWO_ADDRESSES if body.email else rejections.ONE_ADDRESS)()
    address = normal_email(body.email) if body.email else normal_phone(body.phone)
    kinds = (_OF_MAIL if body.email else _OF_PHONE).get(body.type)
    if kinds is None:
        raise rejections.BAD_VERIFY_TYPE()
    aud = request.audience(context.settings.jwt_aud)
    client = request.device.address
    token = await one_time.try_code(context, kinds, address, body.token, aud, client=client)
    if token is None:
        async with context.transaction() as transaction:
            find, provider = (users.find_by_email, "email") if body.email else (users.find_by_phone, "phone")
            user = await find(transaction, address, aud)
            await login_failures.log_wrong_secret(context, transaction, request, user, provider)
        raise rejections.BAD_CODE()
    return token


async def _token_of_link(context: EndpointContext, link: str, type: str) -> OneTimeToken:
    async with context.transaction() as transaction:
        token = await one_time.find_by_link(context, transaction, link, _OF_MAIL[type])
    if token is None:
        raise rejections.BAD_LINK()
    return token


async def _enter(
    context: EndpointContext,
    request: AuthRequest,
    token: OneTimeToken,
    error: rejections.ErrorTemplate,
    flow_type: str | None = None,
) -> CodeSignIn:
    """Use a code up, and notify the user if it changed an address."""
    before, entered = await _redeem(context, request, token, error, flow_type)
    await send_change_notices(context, before, entered.user)
    return entered


async def _redeem(
    context: EndpointContext,
    request: AuthRequest,
    token: OneTimeToken,
    error: rejections.ErrorTemplate,
    flow_type: str | None,
) -> tuple[AuthUser, CodeSignIn]:
    """Use a code up: confirm, and start a session or complete the PKCE flow of `flow_type`, all in one transaction.

    Return the user as it was before, too.
    """
    provider = "phone" if token.is_of_phone else "email"
    async with (
        login_failures.failures_logged(context, request, provider) as attempt,
        context.transaction() as transaction,
    ):
        attempt.user = user = await one_time.take(transaction, token)
        if user is None:
            raise error()
        if user.is_banned(context.now()):
            raise rejections.USER_BANNED()
        done = await confirm(context, transaction, user, token)
        if done.is_half:
            return user, CodeSignIn(done.user)
        trail = _audit_entries(context, request, user, done.user, token, provider)
        if flow_type is not None:
            if trail:
                await transaction.run(*trail)
            code = await _complete(context, transaction, done.user, token, flow_type)
            return user, CodeSignIn(done.user, auth_code=code)
        more = (*trail, *audit.login(context, request, done.user, provider, SignInMethod.OTP))
        grant = await context.start_session(
            transaction, done.user, SignInMethod.OTP, request.device, more=more
        )
        current = await users.find_by_id(transaction, done.user.id)
    return user, CodeSignIn(current or done.user, grant)


def _audit_entries(
    context: EndpointContext,
    request: AuthRequest,
    before: AuthUser,
    user: AuthUser,
    token: OneTimeToken,
    provider: str,
) -> tuple[Statement, ...]:
    """Return the audit entries of a confirmation: a user can sign in from now on, or has another address."""
    if token.token_type not in (CodeKind.CONFIRMATION, CodeKind.RECOVERY):
        action = AuditAction.USER_MODIFIED
    elif before.confirmed_at is not None or before.last_sign_in_at is not None:
        return ()
    else:
        action = AuditAction.INVITE_ACCEPTED if before.invited_at is not None else AuditAction.USER_SIGNED_UP
    return audit.entry(context, request, action, user, {"provider": provider})


async def _complete(
    context: EndpointContext, transaction: Transaction, user: AuthUser, token: OneTimeToken, type: str
) -> str:
    """Complete the flow that waits for a link, and return its code."""
    methods = _METHODS[token.token_type]
    for method in sorted(methods, key=lambda candidate: candidate is not _FIRST.get(type)):
        flow = await flow_state.find_waiting(transaction, user.id, method.value)
        if flow is not None:
            return await flow_state.complete(transaction, flow, user.id, context.vault)
    raise rejections.FLOW_STATE_NOT_FOUND()


def _reject_incomplete(type: str, token: str) -> None:
    if not type:
        raise rejections.NO_VERIFY_TYPE()
    if not token:
        raise rejections.NO_VERIFY_TOKEN()
