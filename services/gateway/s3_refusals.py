"""The door's own words to clients of the S3 endpoint: who a session token says to come from, refusals as XML. Pure."""

from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from schemas.http import Response, header

PREFIX = "/storage/v1/s3"
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
    """Give the access token of a request as an `Authorization` header would have it; None without one.

    `Authorization` itself holds a signature, or what does not count here.
    """
    token = headers.get(_TOKEN)
    if "amz-security-token" in query.lower():
        found = parse_qs(query)
        token = next((values[0] for name, values in found.items() if name.lower() == _TOKEN), token)
    return f"Bearer {token}" if token else None


def in_xml(response: Response) -> Response:
    """Give a refusal of the door as S3 tells it; any other answer is left as it is."""
    kind = header(response.headers, "content-type") or ""
    if response.status < 400 or not kind.startswith("application/json"):
        return response
    try:
        told = msgspec.json.decode(response.body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = {}
    code = str(told.get("code") or _CODES.get(response.status, "InternalError"))
    code = _CODES.get(response.status, "InternalError") if code.isdecimal() else code
    message = escape(str(told.get("message") or ""))
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f"<Error><Code>{escape(code)}</Code><Message>{message}</Message></Error>"
    )
    kept = [pair for pair in response.headers if pair[0] != "content-type"]
    return msgspec.structs.replace(
        response, headers=[("content-type", "application/xml"), *kept], body=body.encode()
    )


def sent_in_xml(sent: web.StreamResponse) -> web.StreamResponse:
    """Give what the edge says of a blob that is not there, or of a range that it has not, as S3 tells it."""
    if (
        sent.status not in (404, 416)
        or not isinstance(sent, web.Response)
        or not isinstance(sent.body, bytes)
    ):
        return sent
    headers = [(name.lower(), value) for name, value in sent.headers.items()]
    told = in_xml(Response(sent.status, headers, sent.body))
    own = CIMultiDict(pair for pair in told.headers if pair[0] != "content-length")
    return web.Response(status=sent.status, headers=own, body=told.body)
