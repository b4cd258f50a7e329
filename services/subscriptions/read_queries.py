"""The query of a live read: a GET of REST that the edge sends to the pool as often as its tables change."""

import hashlib
import secrets
from dataclasses import dataclass, field

import msgspec

from broker.codec import encode
from broker.requests.call import Calls
from broker.subjects import REST
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import Headers, Request, Response, header
from schemas.positions import POSITION, position_token
from schemas.subscriptions import MEDIA_TYPE, METHOD, LiveQueryPlan
from services.middleware.errors import error_response
from services.subscriptions.callers import is_forwarded
from services.subscriptions.pool_queries import OperationRejected, whole_response

EVENT_STREAM = "text/event-stream"
_PASSING = frozenset({502, 503, 504})
_KEPT = frozenset({"accept-profile", "prefer", "range", "range-unit"})
"""Headers of the interface. Of others policies see those that begin with `x-`: equal reads of many clients shall be one."""
_ON_PRIMARY = (POSITION, position_token(None, 0))
"""The read runs because of a change, which a replica may not have yet."""
_read_plan = msgspec.msgpack.Decoder(LiveQueryPlan).decode


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A read as its caller sent it: path below `/rest/v1`, text of the query, headers."""

    calls: Calls
    caller: Caller
    caller_key: str
    path: str
    query: str
    headers: Headers
    budget_ms: int
    max_answer: int
    key: bytes = field(init=False)

    def __post_init__(self) -> None:
        text = encode([self.caller, self.path, self.query, self.headers])
        object.__setattr__(self, "key", b"read " + hashlib.sha256(text).digest())

    async def plan(self) -> LiveQueryPlan:
        """Return the tables to follow. Raises: OperationRejected, Unavailable, DeadlineExceeded."""
        response = await self._ask(METHOD)
        if header(response.headers, "content-type") != MEDIA_TYPE:
            raise Unavailable("a worker answered in a form that is not understood")
        try:
            return _read_plan(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unavailable("a worker answered in a form that is not understood") from None

    async def run(self) -> bytes:
        """Return `<Content-Range>\\n<body>` of the present answer. Raises: as `plan`."""
        response = await self._ask("GET")
        return (header(response.headers, "content-range") or "").encode() + b"\n" + response.body

    async def _ask(self, method: str) -> Response:
        request = Request(
            id=secrets.token_hex(16),
            method=method,
            path=self.path,
            query=self.query,
            headers=[*self.headers, _ON_PRIMARY],
            caller=self.caller,
            budget_ms=self.budget_ms,
            caller_key=self.caller_key,
        )
        response = await whole_response(self.calls, REST, request, self.max_answer)
        if response is None or len(response.body) > self.max_answer:
            raise _rejected(_too_long(self.max_answer))
        if response.status in _PASSING:
            raise Unavailable(f"The read cannot be answered now ({response.status})")
        if response.status >= 300:
            raise _rejected(response)
        return response


def headers_of_read(headers: Headers) -> Headers:
    """Return the headers of the read behind a live one: other media types stay in `Accept`. Pure."""
    kept = [(name, value) for name, value in headers if name in _KEPT or is_forwarded(name)]
    types = [
        part.strip()
        for name, value in headers
        if name == "accept"
        for part in value.split(",")
        if part.strip()
    ]
    others = [part for part in types if part.partition(";")[0].strip().lower() != EVENT_STREAM]
    return [*kept, ("accept", ", ".join(others) or "application/json")]


def _too_long(most: int) -> Response:
    message = f"The result is longer than {most} bytes (api.live.max_answer): ask for fewer rows or columns"
    return error_response("rest", 400, message)


def _rejected(response: Response) -> OperationRejected:
    return OperationRejected(response.body, response)
