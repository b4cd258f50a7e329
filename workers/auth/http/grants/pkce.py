"""grant_type=pkce: the code of a link or of a provider's callback, with the verifier that only its client has.

Source: reference page "auth", section 4.4; RFC 7636, 4.6.
"""

from datetime import timedelta

import msgspec

from workers.auth import audit
from workers.auth.accounts.codes.entered import Entered
from workers.auth.accounts.passwords.login_failures import Trying, noted
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import users
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.flows import flow_state
from workers.auth.model import rejections
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.auth.vault import CannotOpen
from workers.database.interactive import Transaction


class Body(msgspec.Struct):
    """Body of an exchange."""

    auth_code: str = ""
    code_verifier: str = ""


async def pkce(accounts: Accounts, asked: Asked) -> Entered:
    """Give a session for a code; a code works once. Raises: AuthError."""
    body = asked.read(Body)
    if not body.auth_code or not body.code_verifier:
        raise rejections.PKCE_EMPTY()
    async with noted(accounts, asked) as trying, accounts.transaction() as transaction:
        flow, user = await _taken(accounts, transaction, body, trying)
        method = Method(flow.authentication_method)
        more = audit.login(accounts, asked, user, flow.provider_type, method)
        granted = await accounts.begin_session(
            transaction, user, method, asked.device, not_after=flow.session_not_after, more=more
        )
        found = await users.find_by_id(transaction, user.id)
    shown = await accounts.session_shown(found or user, granted)
    return Entered(shown | _provider_tokens(accounts, flow), granted)


async def _taken(
    accounts: Accounts, transaction: Transaction, body: Body, trying: Trying
) -> tuple[flow_state.Flow, User]:
    """Take the flow of a code, and give it with its user. Raises: AuthError."""
    now, lasts = accounts.now(), timedelta(seconds=float(accounts.settings.flow_state_expiry_duration))
    flow = await flow_state.take(transaction, body.auth_code)
    if flow is None or flow.user_id is None:
        raise rejections.FLOW_STATE_NOT_FOUND()
    user = await users.find_by_id(transaction, flow.user_id)
    trying.provider, trying.user = flow.provider_type, user
    # A refusal rolls the taking back: who has only the code cannot spoil it for who has the verifier.
    flow_state.check(flow, body.code_verifier, lasts, now)
    if user is None or user.deleted_at is not None:
        raise rejections.FLOW_STATE_NOT_FOUND()
    if user.is_banned(now):
        raise rejections.USER_BANNED()
    return flow, user


def _provider_tokens(accounts: Accounts, flow: flow_state.Flow) -> Shown:
    """Give what the provider gave, if it did; tokens that cannot be opened any more are left out."""
    try:
        tokens = flow_state.tokens_of(flow, accounts.vault)
    except CannotOpen:
        return {}
    both = {"provider_token": tokens.access, "provider_refresh_token": tokens.refresh}
    return {name: token for name, token in both.items() if token}
