"""A response as the bytes that a socket sends, without aiohttp's objects (`direct/exchange.py`, `ready_response.py`). Hot path.

The head is what `forward.http_response` and aiohttp make of the same response; a test compares both.
"""

from http import HTTPStatus

from aiohttp.helpers import rfc822_formatted_time

from schemas.http import Headers, Response
from services.gateway.requests.forward import merged_headers, reason_of, without_unsendable

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}
_WITHOUT_LENGTH = frozenset({204, 304, *range(100, 200)})


def response_bytes(response: Response, extra: Headers, *, is_last: bool) -> bytes:
    """Return head and body of a response to a request of HTTP/1.1 that is not HEAD; `is_last`: the connection ends with it.

    Source: RFC 9112, 4 and 6.3; RFC 9110, 6.6.1 and 8.6.
    """
    status, body = response.status, response.body
    reason = reason_of(response)
    line = _STATUS_LINES.get(status) if reason is None else None
    pairs, names = merged_headers(response.headers, extra)
    lines = [f"{name}: {value}" for name, value in pairs]
    if not "".join(lines).isprintable():  # what is printable needs no search
        lines = [f"{name}: {value}" for name, value in without_unsendable(pairs)]
    lines.insert(0, line or f"HTTP/1.1 {status} {reason or ''}")
    if status in _WITHOUT_LENGTH:
        body = b""
    else:
        if body and "content-type" not in names:
            lines.append("Content-Type: application/octet-stream")
        lines.append(f"Content-Length: {len(body)}")
    if "date" not in names:
        lines.append(f"Date: {rfc822_formatted_time()}")
    lines.append("Connection: close\r\n\r\n" if is_last else "\r\n")
    return "\r\n".join(lines).encode() + body
