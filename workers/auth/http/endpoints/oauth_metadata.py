"""GET /.well-known/openid-configuration and /.well-known/oauth-authorization-server: the metadata of the server.

The second one is served at the root of the host too, followed by the path of the issuer (RFC 8414, 3.1).
Source: docs/reference/auth.md, section 15.
"""

from schemas.http import Response
from workers.auth.federation.oauth_server.id_token import algorithms
from workers.auth.federation.oauth_server.server_metadata import is_of_issuer, server_metadata
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response


async def metadata(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the document. Raises: AuthError (404) while the server is off, or for the path of another issuer."""
    refuse_unless_on(context)
    issuer_path = request.parameters.get("rest")
    if issuer_path and not is_of_issuer(context.settings, issuer_path):
        raise AuthError(ErrorCode.UNKNOWN, "There is no such issuer here", 404)
    response = json_response(server_metadata(context.settings, algorithms(context.key)))
    response.headers[1] = ("cache-control", "public, max-age=600")
    return response
