"""grant_type=pkce: the code of a link or of a provider's callback, with the verifier that only its client has.

Source: reference page "auth", section 4.4; RFC 7636, 4.6.
"""

from datetime import timedelta

import msgspec

from workers.auth import flows, refusals, sessions, users
from workers.auth.asked import Asked
from workers.auth.claims import Method
from workers.auth.context import Accounts
from workers.auth.shown import Shown
from workers.auth.vault import CannotOpen


class Body(msgspec.Struct):
    """Body of an exchange."""

    auth_code: str = ""
    code_verifier: str = ""


async def pkce(accounts: Accounts, asked: Asked) -> Shown:
    """Give a session for a code; a code works once. Raises: AuthError."""
    body = asked.read(Body)
    if not body.auth_code or not body.code_verifier:
        raise refusals.PKCE_EMPTY()
    now, lasts = accounts.now(), timedelta(seconds=float(accounts.settings.flow_state_expiry_duration))
    async with accounts.transaction() as transaction:
        flow = await flows.take(transaction, body.auth_code)
        if flow is None or flow.user_id is None:
            raise refusals.FLOW_STATE_NOT_FOUND()
        # A refusal rolls the taking back: who has only the code cannot spoil it for who has the verifier.
        flows.check(flow, body.code_verifier, lasts, now)
        user = await users.find_by_id(transaction, flow.user_id)
        if user is None or user.deleted_at is not None:
            raise refusals.FLOW_STATE_NOT_FOUND()
        if user.is_banned(now):
            raise refusals.USER_BANNED()
        method = Method(flow.authentication_method)
        granted = await sessions.begin(
            transaction, accounts.vault, user, method, asked.device, not_after=flow.session_not_after
        )
        found = await users.find_by_id(transaction, user.id)
    shown = await accounts.session_shown(found or user, granted)
    return shown | _provider_tokens(accounts, flow)


def _provider_tokens(accounts: Accounts, flow: flows.Flow) -> Shown:
    """Give what the provider gave, if it did; tokens that cannot be opened any more are left out."""
    try:
        tokens = flows.tokens_of(flow, accounts.vault)
    except CannotOpen:
        return {}
    both = {"provider_token": tokens.access, "provider_refresh_token": tokens.refresh}
    return {name: token for name, token in both.items() if token}
