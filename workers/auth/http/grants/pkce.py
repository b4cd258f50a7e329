"""grant_type=pkce: exchanges the code of a link or callback, with the verifier that only the client knows, for a session.

Sources: docs/reference/auth.md, section 4.4; RFC 7636, section 4.6.
"""

from datetime import timedelta

import msgspec

from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit, flow_state
from workers.auth.accounts.passwords.login_failures import SignInAttempt, failures_logged
from workers.auth.accounts.users import users
from workers.auth.http.context import EndpointContext
from workers.auth.http.token_response import TokenResponse
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject
from workers.auth.model.vault import CannotOpen
from workers.database.transactions.interactive import Transaction


class PkceGrantBody(SecretRecord, msgspec.Struct):
    """The body of an exchange."""

    auth_code: str = ""
    code_verifier: str = ""


async def pkce(context: EndpointContext, request: AuthRequest) -> TokenResponse:
    """Return a session for a code; a code works once. Raises: AuthError."""
    body = request.read(PkceGrantBody)
    if not body.auth_code or not body.code_verifier:
        raise rejections.PKCE_EMPTY()
    async with failures_logged(context, request) as attempt, context.transaction() as transaction:
        flow, user = await _take_flow(context, transaction, body, attempt)
        method = SignInMethod(flow.authentication_method)
        more = audit.login(context, request, user, flow.provider_type, method)
        grant = await context.start_session(
            transaction, user, method, request.device, not_after=flow.session_not_after, more=more
        )
        current = await users.find_by_id(transaction, user.id)
    session = await context.session_json(current or user, grant)
    return TokenResponse(session | _provider_tokens(context, flow), grant)


async def _take_flow(
    context: EndpointContext, transaction: Transaction, body: PkceGrantBody, attempt: SignInAttempt
) -> tuple[flow_state.FlowState, AuthUser]:
    """Delete the flow of a code, and return it with its user. Raises: AuthError."""
    now, lifetime = context.now(), timedelta(seconds=float(context.settings.flow_state_expiry_duration))
    flow = await flow_state.take(transaction, body.auth_code)
    if flow is None or flow.user_id is None:
        raise rejections.FLOW_STATE_NOT_FOUND()
    user = await users.find_by_id(transaction, flow.user_id)
    attempt.provider, attempt.user = flow.provider_type, user
    # An error rolls the delete back: an attacker with only the code cannot use it up for the client with the verifier.
    flow_state.check(flow, body.code_verifier, lifetime, now)
    if user is None or user.deleted_at is not None:
        raise rejections.FLOW_STATE_NOT_FOUND()
    if user.is_banned(now):
        raise rejections.USER_BANNED()
    return flow, user


def _provider_tokens(context: EndpointContext, flow: flow_state.FlowState) -> JsonObject:
    """Return the provider's tokens; those that cannot be decrypted any more are left out."""
    try:
        tokens = flow_state.tokens_of(flow, context.vault)
    except CannotOpen:
        return {}
    both = {"provider_token": tokens.access, "provider_refresh_token": tokens.refresh}
    return {name: token for name, token in both.items() if token}
