"""POST /token: a session for the credentials of a grant. Source: docs/reference/auth.md, sections 4.2 to 4.6 and 14."""

from collections.abc import Awaitable, Callable, Mapping

from schemas.http import Response
from workers.auth.http.context import EndpointContext
from workers.auth.http.grants.id_token import id_token
from workers.auth.http.grants.password import password
from workers.auth.http.grants.pkce import pkce
from workers.auth.http.grants.refresh import refresh
from workers.auth.http.grants.web3 import web3
from workers.auth.http.token_response import TokenResponse
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.rate_limits import count_request, token_limit, web3_limit
from workers.auth.model.request import AuthRequest, json_response

Grant = Callable[[EndpointContext, AuthRequest], Awaitable[TokenResponse]]

GRANTS: Mapping[str, Grant] = {
    "id_token": id_token,
    "password": password,
    "refresh_token": refresh,
    "pkce": pkce,
    "web3": web3,
}
"""Every grant, one line each."""


async def token(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a session for the grant that `grant_type` names. Raises: AuthError."""
    kind = request.query("grant_type")
    limit = web3_limit if kind == "web3" else token_limit
    await count_request(context.database, limit(context.settings.rate_limit), request.device.address)
    if kind not in GRANTS:
        raise rejections.UNSUPPORTED_GRANT()
    try:
        response = await GRANTS[kind](context, request)
    except AuthError as error:
        if error.code is ErrorCode.USER_BANNED:  # 400 for every grant; 403 at all other endpoints
            raise rejections.USER_BANNED(status=400) from None
        raise
    return json_response(response.session, 200, *response.headers)
