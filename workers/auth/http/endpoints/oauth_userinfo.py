"""GET and POST /oauth/userinfo: the claims of the signed-in user for a client.

Source: docs/reference/auth.md, section 15; OpenID Connect Core, 5.3.
"""

from schemas.http import Response
from workers.auth.federation.oauth_server.scopes import claims_of
from workers.auth.http.caller import read_caller
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model.request import AuthRequest, json_response


async def userinfo(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the claims of an access token's user that its scopes allow. Raises: AuthError (401, 403, 404)."""
    refuse_unless_on(context)
    caller = await read_caller(context, request)
    # The token may have fewer scopes than the session (after a refresh with fewer scopes).
    token_scope = request.bearer.claims.get("scope")
    granted = set((caller.session.scopes or "").split()) if caller.session else set()
    scopes = granted & set(token_scope.split()) if isinstance(token_scope, str) else set()
    return json_response({"sub": str(caller.user.id), **claims_of(caller.user, scopes)})
