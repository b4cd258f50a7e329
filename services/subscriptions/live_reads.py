"""Live reads: `GET /rest/v1/...` with `Accept: text/event-stream`. The result first, then its changes.

Events: `result` with the body of the answer to the same GET; `patch` with a JSON Patch that leads from the result before to the present one;
`range` with the Content-Range where a count is asked for; `unchanged` instead of the first result if `Last-Event-ID` names it; `error` with the body of
an error, and `expired` with the token, before the stream ends. A client that reads slowly gets fewer events, never one too many: the
next event leads from what was sent to what is true by then. Source: docs/live-reads.md.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from broker.observability.observe import gauge
from broker.requests.call import Calls
from schemas.bounded_cache import BoundedCache
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import Headers, Response
from schemas.settings.live_reads import Live
from services.middleware.errors import error_response
from services.realtime.limits import SocketCounts
from services.realtime.sse import HEADERS, HEARTBEAT_S
from services.subscriptions import read_frames
from services.subscriptions.callers import expiry_of
from services.subscriptions.live_queries import LiveQueries
from services.subscriptions.pool_queries import OperationRejected
from services.subscriptions.read_queries import EVENT_STREAM, ReadQuery, headers_of_read

AREA = "rest"
_WRITE_S = 30.0
_CACHED = 32
"""Events that several clients need at the same time; each has at most `api.live.max_answer` bytes."""
_DRAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """A request for a live read whose caller is known."""

    http: web.BaseRequest
    path: str
    """Below `/rest/v1`."""
    query: str
    """Without an API key."""
    headers: Headers
    caller: Caller
    caller_key: str
    address: str
    last_event_id: str
    response_headers: Headers


def is_live(accept: str | None) -> bool:
    """Return whether an `Accept` header asks for events. Pure."""
    return accept is not None and EVENT_STREAM in accept.lower()


class LiveReads:
    """The live reads of one edge process. Without row changes, `live` is None."""

    def __init__(self, settings: Live, calls: Calls, live: LiveQueries | None, timeout_s: float) -> None:
        self._settings, self._calls, self._live = settings, calls, live
        self._budget_ms = int(timeout_s * 1000)
        self._counts = SocketCounts(settings.max_streams, 0, settings.max_streams_per_address)
        self._stopping = asyncio.Event()
        self._streams: set[_LiveStream] = set()
        self._events: BoundedCache[tuple[bytes, bytes], bytes] = BoundedCache(_CACHED)
        self._remove_gauge = gauge(
            "headwater_rest_live_streams", "Open live reads of REST.", lambda: len(self._streams)
        )

    async def serve(self, request: LiveRequest) -> web.StreamResponse | Response:
        """Serve a live read until the client leaves or its token expires; or return the response that rejects it."""
        if not self._settings.enabled:
            return error_response(AREA, 501, "Live reads are switched off (api.live.enabled)")
        if self._live is None:
            return error_response(
                AREA, 501, "Live reads need row changes, which are not delivered here (realtime.enabled)"
            )
        if self._stopping.is_set():
            raise Unavailable("The interface is restarting")
        counted = self._counts.add("", request.address)
        if counted is None:
            return error_response(AREA, 429, "Too many live reads", headers=[("retry-after", "5")])
        stream = _LiveStream(self._event, request.last_event_id.encode("latin-1", "replace"))
        self._streams.add(stream)
        leave = self._live.follow(self._read_of(request), stream)
        try:
            return await self._serve(request, stream)
        finally:
            leave()
            self._streams.discard(stream)
            self._counts.remove(counted)

    async def drain(self) -> None:
        """End every stream, so that its client comes back to another process, and wait `_DRAIN_S` at most; reject new ones."""
        self._stopping.set()
        for stream in self._streams:
            stream.wake()
        deadline = time.monotonic() + _DRAIN_S
        while self._streams and time.monotonic() < deadline:  # noqa: ASYNC110 - handlers end in tasks of the server
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Remove the gauge. The streams must be gone."""
        self._remove_gauge()

    def _read_of(self, request: LiveRequest) -> ReadQuery:
        return ReadQuery(
            self._calls,
            request.caller,
            request.caller_key,
            request.path,
            request.query,
            headers_of_read(request.headers),
            self._budget_ms,
            int(self._settings.max_answer),
        )

    async def _serve(self, request: LiveRequest, stream: "_LiveStream") -> web.StreamResponse | Response:
        await stream.first()
        if stream.rejected is not None and not stream.has_result:
            return _response_of(stream.rejected)
        response = web.StreamResponse(headers=dict(HEADERS))
        response.headers["Vary"] = "Accept, Prefer, Range"
        for name, value in request.response_headers:
            response.headers[name] = value
        await response.prepare(request.http)
        with contextlib.suppress(ConnectionError, TimeoutError):
            await stream.send(response, expiry_of(request.caller), self._stopping)
        return response

    def _event(self, before: bytes, after: bytes) -> bytes:
        """Return the event from one result to another; made once for all clients that need it."""
        event = self._events.refresh((before, after))
        if event is None:
            event = read_frames.change_event(before, after)
            self._events.put((before, after), event)
        return event


def _response_of(rejected: OperationRejected) -> Response:
    if rejected.response is not None:
        return rejected.response
    return error_response(AREA, 503, "The read cannot be followed now", headers=[("retry-after", "1")])


class _LiveStream:
    """A client: the newest result, what was sent of it, and the end."""

    def __init__(self, event_between: Callable[[bytes, bytes], bytes], last_id: bytes) -> None:
        self.rejected: OperationRejected | None = None
        self._event_between, self._last_id = event_between, last_id
        self._latest: bytes | None = None
        self._sent: bytes | None = None
        self._wake = asyncio.Event()

    # As a listener of the query

    def result(self, result: bytes) -> None:
        """Receive a result; one that has not been sent yet is replaced."""
        self._latest = result
        self._wake.set()

    def failed(self, rejected: OperationRejected) -> None:
        """Handle that the query ended."""
        self.rejected = rejected
        self._wake.set()

    # Towards the client

    @property
    def has_result(self) -> bool:
        """Return whether there was a result."""
        return self._latest is not None

    async def first(self) -> None:
        """Wait for the first result or the error in its place."""
        await self._wake.wait()

    def wake(self) -> None:
        """Look again whether the stream is to end."""
        self._wake.set()

    async def send(self, response: web.StreamResponse, until: float, stopping: asyncio.Event) -> None:
        """Send events until the query or the token ends, or `stopping` is set. Raises: ConnectionError, TimeoutError."""
        while not stopping.is_set():
            self._wake.clear()
            left_s = until - time.time()
            if left_s <= 0:
                await _write(response, read_frames.EXPIRED)
                return
            if self._latest is not None and self._latest != self._sent:
                latest = self._latest
                await _write(response, self._next_event(latest))
                self._sent = latest
                continue
            if self.rejected is not None:
                await _write(response, read_frames.error_event(_response_of(self.rejected).body))
                return
            try:
                async with asyncio.timeout(min(HEARTBEAT_S, left_s)):
                    await self._wake.wait()
            except TimeoutError:
                await _write(response, b":\n\n")

    def _next_event(self, latest: bytes) -> bytes:
        if self._sent is not None:
            return self._event_between(self._sent, latest)
        if self._last_id and read_frames.result_id(latest) == self._last_id:
            return read_frames.UNCHANGED
        return read_frames.result_event(latest)


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(_WRITE_S):
        await response.write(data)
