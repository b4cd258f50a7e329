"""Where a browser lands after a link, a callback or a single sign-on, and what the address tells. Pure.

Source: reference page "auth", sections 5.7 and 11.2.
"""

from collections.abc import Mapping
from http import HTTPStatus

from schemas.http import Response
from workers.auth.accounts.users.shown import Shown
from workers.auth.flows.redirects import with_fragment, with_query
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError

_DENIED = frozenset({Code.SIGNUP_DISABLED, Code.USER_BANNED, Code.PROVIDER_EMAIL_NEEDS_VERIFICATION})
_NAMES = {
    400: "invalid_request",
    401: "unauthorized_client",
    403: "access_denied",
    503: "temporarily_unavailable",
}
_SESSION_FIELDS = ("access_token", "token_type", "expires_in", "expires_at", "refresh_token")


def granted(target: str, session: Shown, more: Mapping[str, str]) -> str:
    """Give the address that carries a session in its fragment; `more` is the kind of link, or tokens of a provider."""
    fields = {name: str(session[name]) for name in _SESSION_FIELDS}
    return with_fragment(target, {**fields, **{name: value for name, value in more.items() if value}})


def with_code(target: str, code: str) -> str:
    """Give the address that carries the code of a PKCE flow."""
    return with_query(target, {"code": code})


def told(target: str, message: str, *, is_pkce: bool) -> str:
    """Give the address that carries a message, such as that one of two links was accepted."""
    fields = {"message": message}
    return with_fragment(with_query(target, fields) if is_pkce else target, fields)


def failed(target: str, error: AuthError, *, in_query: bool) -> str:
    """Give the address that tells of a refusal, in the fragment, and in the query too where a server reads it."""
    fields = {
        "error": "access_denied" if error.code in _DENIED else error_name(error.status),
        "error_code": error.code.value,
        "error_description": error.message,
    }
    return with_fragment(with_query(target, fields) if in_query else target, fields)


def error_name(status: int) -> str:
    """Give the OAuth error that goes with a status. Source: RFC 6749, 4.1.2.1."""
    if status in _NAMES:
        return _NAMES[status]
    return "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request"


def redirect(address: str, status: int = 303) -> Response:
    """Send a browser to an address; nobody keeps the answer, and the address is not told to the next page."""
    headers = [("location", address), ("cache-control", "no-store"), ("referrer-policy", "no-referrer")]
    return Response(status, headers)
