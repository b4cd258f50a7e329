"""The line that a request leaves in the store of logs: method, path, status, time, bytes, area, user, client, request id.

A line never has the query of a URL (keys, tokens and addresses of people stand there), a header, or a body. Of paths whose end the
project chooses, or that name an upload, only the beginning is shown. Requests that no route serves (health, metrics) leave a
line when they fail. Which successful ones do is decided when they begin, for gateway and pool alike: `log.store.requests`.
"""

import time
from typing import Any

import msgspec
from aiohttp import web

from broker.observability.log_buffer import LogBuffer, level_of_status
from schemas.caller import UserCaller
from schemas.logs import LogRecord
from services.gateway.requests.request import GatewayRequest

CLIENT_GONE = 499
"""Status of a request whose client went away before the answer."""
_LONGEST_PATH = 512
_PARTS_SHOWN = 4
"""Parts of the paths of functions and realtime: behind them stands what the project chose, which may be a secret."""
_UPLOADS = "/storage/v1/upload/resumable"
_MOST_USERS = 10_000


class _Subject(msgspec.Struct):
    sub: str = ""


_decode_subject = msgspec.json.Decoder(_Subject).decode


class AccessLines:
    """Adds the lines of requests to the buffer."""

    def __init__(self, lines: LogBuffer) -> None:
        self._lines = lines
        self._users: dict[bytes, str] = {}
        self.samples = lines.samples

    def note(self, request: GatewayRequest, sent: web.StreamResponse | None, duration_s: float) -> None:
        """Add the line of a request that is over; `sent` is None when its client is gone."""
        self.note_sent(request, CLIENT_GONE if sent is None else sent.status, _size(sent), duration_s)

    def note_sent(self, request: GatewayRequest, status: int, size: int, duration_s: float) -> None:
        """Add the line of a request that is over, by the status and the size in bytes of what was sent."""
        route = request.route
        if (route is None and status < 400) or not self._lines.leaves_lines(
            status, duration_s, is_sampled=request.is_sampled
        ):
            return
        caller = request.caller
        user = ""
        if isinstance(caller, UserCaller):
            user = self._users.get(caller.claims) or self._subject(caller.claims)
        fields: dict[str, Any] = {"client": request.client_address()}
        if size:
            fields["bytes"] = size
        self._lines.add(
            LogRecord(
                time.time_ns() // 1_000_000,
                level_of_status(status),
                self._lines.process,
                "RequestServed",
                f"{request.method} {shown_path(request)}",
                request.area,
                status,
                user,
                request_id=request.id,
                duration_ms=round(duration_s * 1000, 2),
                fields=fields,
            )
        )

    def _subject(self, claims: bytes) -> str:
        """Return the subject of a token and keep it; empty for one without."""
        try:
            subject = _decode_subject(claims).sub
        except (msgspec.DecodeError, UnicodeDecodeError):
            subject = ""
        if len(self._users) >= _MOST_USERS:
            self._users.clear()
        self._users[claims] = subject
        return subject


def shown_path(request: GatewayRequest) -> str:
    """Return the path of a request as its line shows it."""
    path = request.path
    if request.area in ("functions", "realtime"):
        path = "/".join(path.split("/", _PARTS_SHOWN)[:_PARTS_SHOWN])
    elif request.area == "storage" and path.startswith(_UPLOADS):
        path = _UPLOADS
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}..."


def _size(sent: web.StreamResponse | None) -> int:
    """Return the bytes of a body that was sent, or is about to be."""
    if isinstance(sent, web.Response):
        return len(sent.body) if isinstance(sent.body, bytes) else 0
    return 0 if sent is None else sent.body_length
