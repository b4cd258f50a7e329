"""Access rules of the OAuth server's endpoints: none is served while the server is disabled.

Source: docs/reference/auth.md, section 15.
"""

from schemas.http import header
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest


def refuse_unless_on(context: EndpointContext) -> None:
    """Check that the server is enabled. Raises: AuthError (404)."""
    if not context.settings.oauth_server.enabled:
        raise rejections.OAUTH_SERVER_DISABLED()


def refuse_foreign_origin(context: EndpointContext, request: AuthRequest) -> None:
    """Check the `Origin` of a consent request: only pages of the project may decide for a user.

    Raises: AuthError (400).
    """
    origin = header(request.http.headers, "origin")
    if origin is None:
        return
    if not any(context.redirects.allows(address) for address in (origin, f"{origin}/")):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "unauthorized request origin")
