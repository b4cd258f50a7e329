"""Who may use the endpoints of the OAuth server: nobody while it is off, and a user only by a session of his own.

Source: reference page "auth", section 15.
"""

from schemas.http import header
from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked


def refuse_unless_on(accounts: Accounts) -> None:
    """Raise if the server is switched off. Raises: AuthError (404)."""
    if not accounts.settings.oauth_server.enabled:
        raise rejections.OAUTH_SERVER_DISABLED()


def refuse_foreign_origin(accounts: Accounts, asked: Asked) -> None:
    """Raise if a page asks that the project does not know: none but its own may decide for a user.

    Raises: AuthError (400).
    """
    origin = header(asked.request.headers, "origin")
    if origin is None:
        return
    if not any(accounts.redirects.allows(each) for each in (origin, f"{origin}/")):
        raise AuthError(Code.VALIDATION_FAILED, "unauthorized request origin")
