"""Responses of the management interface. Pure."""

import re

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Headers, Response
from workers.management.interface.identity.authenticate import COOKIE, SECURE_COOKIE
from workers.management.interface.operation import StreamedResult

_NEVER_STORED: Headers = [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]
_HEADERS: Headers = [("content-type", "application/json; charset=utf-8"), *_NEVER_STORED]
_UNSAFE_IN_NAME = re.compile(r"[^\w.-]+", re.ASCII)


def json_response(value: object, headers: Headers | None = None) -> Response:
    """Return a result as JSON that nothing may store."""
    return Response(200, [*_HEADERS, *(headers or [])], msgspec.json.encode(value))


def stream_response(result: StreamedResult) -> StreamedResponse:
    """Return a result of any size as a response that nothing may store, and that browsers save as a file if it has a name."""
    headers: Headers = [("content-type", result.content_type), *_NEVER_STORED]
    if result.file_name:
        name = _UNSAFE_IN_NAME.sub("_", result.file_name)
        headers.append(("content-disposition", f'attachment; filename="{name}"'))
    return StreamedResponse(200, headers, result.chunks)


def cookie_header(secret: str, *, is_secure: bool) -> tuple[str, str]:
    """Return the header that sets the session's cookie, or removes it if `secret` is empty.

    A cookie with the prefix `__Host-` can be set over TLS only, for this host and all of its paths (RFC 6265bis, 4.1.3).
    """
    name = SECURE_COOKIE if is_secure else COOKIE
    secure = "; Secure" if is_secure else ""
    ended = "; Max-Age=0" if not secret else ""
    return "set-cookie", f"{name}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}{ended}"
