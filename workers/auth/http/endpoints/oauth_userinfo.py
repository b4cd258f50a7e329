"""GET and POST /oauth/userinfo: what a client may know of who signed in.

Source: reference page "auth", section 15; OpenID Connect Core, 5.3.
"""

from schemas.http import Response
from workers.auth.context import Accounts
from workers.auth.federation.oauth_server.scopes import claims_of
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.http.endpoints.present import present
from workers.auth.model.request import Asked, answer


async def userinfo(accounts: Accounts, asked: Asked) -> Response:
    """Give the user of an access token, as far as its scopes go. Raises: AuthError (401, 403, 404)."""
    refuse_unless_on(accounts)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction, allows_clients=True)
    # The token may have been given for less than the session has (a refresh with fewer scopes).
    told = asked.bearer.claims.get("scope")
    granted = set((caller.session.scopes or "").split()) if caller.session else set()
    scopes = granted & set(told.split()) if isinstance(told, str) else set()
    return answer({"sub": str(caller.user.id), **claims_of(caller.user, scopes)})
