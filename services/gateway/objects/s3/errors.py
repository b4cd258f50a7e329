"""The S3 endpoint at the gateway: the session token of a request, and errors of the gateway as XML."""

from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from schemas.http import Response, header
from services.gateway.objects.blob_responses import S3_PREFIX

PREFIX = S3_PREFIX
_TOKEN = "x-amz-security-token"  # noqa: S105 - a header's name
_CODES = {
    400: "InvalidRequest",
    401: "AccessDenied",
    404: "NoSuchKey",
    408: "RequestTimeout",
    413: "EntityTooLarge",
    416: "InvalidRange",
    429: "SlowDown",
    501: "NotImplemented",
    503: "ServiceUnavailable",
    504: "ServiceUnavailable",
    507: "InsufficientStorage",
}


def session_token(headers: Mapping[str, str], query: str) -> str | None:
    """Return the access token of a request as an `Authorization` header would have it; None without one.

    `Authorization` itself holds a signature; other values are ignored.
    """
    token = headers.get(_TOKEN)
    if "amz-security-token" in query.lower():
        parameters = parse_qs(query)
        token = next((values[0] for name, values in parameters.items() if name.lower() == _TOKEN), token)
    return f"Bearer {token}" if token else None


def error_as_xml(response: Response, request_id: str) -> Response:
    """Return an error of the gateway as XML, as S3 clients expect it; any other response is returned unchanged."""
    kind = header(response.headers, "content-type") or ""
    if response.status < 400 or not kind.startswith("application/json"):
        return response
    try:
        error = msgspec.json.decode(response.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        error = {}
    code = str(error.get("code") or _CODES.get(response.status, "InternalError"))
    code = _CODES.get(response.status, "InternalError") if code.isdecimal() else code
    message = escape(str(error.get("message") or ""))
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f"<Error><Code>{escape(code)}</Code><Message>{message}</Message>"
        f"<RequestId>{escape(request_id)}</RequestId></Error>"
    )
    others = [pair for pair in response.headers if pair[0] != "content-type"]
    return msgspec.structs.replace(
        response, headers=[("content-type", "application/xml"), *others], body=body.encode()
    )


def sent_error_as_xml(sent: web.StreamResponse, request_id: str) -> web.StreamResponse:
    """Return the 404 and 416 of a download as XML; any other response is returned unchanged."""
    if (
        sent.status not in (404, 416)
        or not isinstance(sent, web.Response)
        or not isinstance(sent.body, bytes)
    ):
        return sent
    headers = [(name.lower(), value) for name, value in sent.headers.items()]
    error = error_as_xml(Response(sent.status, headers, sent.body), request_id)
    headers_sent = CIMultiDict(pair for pair in error.headers if pair[0] != "content-length")
    return web.Response(status=sent.status, headers=headers_sent, body=error.body)
