"""POST /token: a session for what `grant_type` names. Source: reference page "auth", sections 4.2 to 4.6, 14."""

from collections.abc import Awaitable, Callable, Mapping

from schemas.http import Response
from workers.auth.accounts.codes.entered import Entered
from workers.auth.accounts.codes.limits import take, token_limit, web3_limit
from workers.auth.context import Accounts
from workers.auth.http.grants.id_token import id_token
from workers.auth.http.grants.password import password
from workers.auth.http.grants.pkce import pkce
from workers.auth.http.grants.refresh import refresh
from workers.auth.http.grants.web3 import web3
from workers.auth.model import rejections
from workers.auth.model.request import Asked, answer

Grant = Callable[[Accounts, Asked], Awaitable[Entered]]

GRANTS: Mapping[str, Grant] = {
    "id_token": id_token,
    "password": password,
    "refresh_token": refresh,
    "pkce": pkce,
    "web3": web3,
}
"""Every grant, one line each."""


async def token(accounts: Accounts, asked: Asked) -> Response:
    """Give a session for what `grant_type` names. Raises: AuthError."""
    kind = asked.query("grant_type")
    limit = web3_limit if kind == "web3" else token_limit
    await take(accounts.database, limit(accounts.settings.rate_limit), asked.device.address)
    if kind not in GRANTS:
        raise rejections.UNSUPPORTED_GRANT()
    entered = await GRANTS[kind](accounts, asked)
    return answer(entered.shown, 200, *entered.headers)
