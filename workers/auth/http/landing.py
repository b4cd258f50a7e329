"""Redirects that end a link, a callback or a single sign-on, with the result in the query or fragment of the URL. Pure.

Source: docs/reference/auth.md, sections 5.7 and 11.2.
"""

from collections.abc import Mapping
from http import HTTPStatus

from schemas.http import Response
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.redirects.allow_list import with_fragment, with_query
from workers.auth.model.user_json import JsonObject

_DENIED = frozenset(
    {ErrorCode.SIGNUP_DISABLED, ErrorCode.USER_BANNED, ErrorCode.PROVIDER_EMAIL_NEEDS_VERIFICATION}
)
_NAMES = {
    400: "invalid_request",
    401: "unauthorized_client",
    403: "access_denied",
    503: "temporarily_unavailable",
}
_SESSION_FIELDS = ("access_token", "token_type", "expires_in", "expires_at", "refresh_token")


def session_url(target: str, session: JsonObject, more: Mapping[str, str]) -> str:
    """Return the URL that carries a session in its fragment; `more` is the kind of link, or tokens of a provider."""
    fields = {name: str(session[name]) for name in _SESSION_FIELDS}
    return with_fragment(target, {**fields, **{name: value for name, value in more.items() if value}})


def code_url(target: str, code: str) -> str:
    """Return the URL that carries the code of a PKCE flow."""
    return with_query(target, {"code": code})


def message_url(target: str, message: str, *, is_pkce: bool) -> str:
    """Return the URL that carries a message, such as that one of two links was accepted."""
    fields = {"message": message}
    return with_fragment(with_query(target, fields) if is_pkce else target, fields)


def error_url(target: str, error: AuthError, *, in_query: bool) -> str:
    """Return the URL that carries an error: in the fragment, and also in the query where a server reads it."""
    fields = {
        "error": "access_denied" if error.code in _DENIED else error_name(error.status),
        "error_code": error.code.value,
        "error_description": error.message,
    }
    return with_fragment(with_query(target, fields) if in_query else target, fields)


def error_name(status: int) -> str:
    """Return the OAuth error name for a status. Source: RFC 6749, section 4.1.2.1."""
    if status in _NAMES:
        return _NAMES[status]
    return "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request"


def redirect(address: str, status: int = 303) -> Response:
    """Redirect a browser to a URL. The response must not be cached, and the URL must not leak by the Referer header."""
    headers = [("location", address), ("cache-control", "no-store"), ("referrer-policy", "no-referrer")]
    return Response(status, headers)
