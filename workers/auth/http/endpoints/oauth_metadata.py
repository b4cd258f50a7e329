"""GET /.well-known/openid-configuration and /.well-known/oauth-authorization-server: what a client must know.

The second stands at the root of the host too, followed by the path of who issues tokens (RFC 8414, 3.1).
Source: reference page "auth", section 15.
"""

from schemas.http import Response
from workers.auth.context import Accounts
from workers.auth.federation.oauth_server.documents import document, is_of_issuer
from workers.auth.federation.oauth_server.id_token import algorithms
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer


async def metadata(accounts: Accounts, asked: Asked) -> Response:
    """Give the document. Raises: AuthError (404) while the server is off, or for the path of another issuer."""
    refuse_unless_on(accounts)
    issuer_path = asked.parameters.get("rest")
    if issuer_path and not is_of_issuer(accounts.settings, issuer_path):
        raise AuthError(Code.UNKNOWN, "There is no such issuer here", 404)
    response = answer(document(accounts.settings, algorithms(accounts.key)))
    response.headers[1] = ("cache-control", "public, max-age=600")
    return response
