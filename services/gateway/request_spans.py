"""The span of a request at the gateway: the parent of all other spans of the request.

It shows method, route, path and status. The query is left out (keys and tokens stand there), and so is every header.
Sockets and streams without an end are not traced: their spans would be as long as they are.
"""

from collections.abc import Awaitable, Callable

from aiohttp import web

from broker.observability.spans import Tracing
from services.gateway.requests.routes import route_of

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_LONGEST_PATH = 256


def trace_requests(tracing: Tracing, handle: Handle) -> Handle:
    """Return a handler that opens a span for each request of `handle`. Health, metrics and paths without a route are not traced."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0]
        match = route_of(path)
        if match is None or "upgrade" in request.headers or match[0].area == "realtime":
            return await handle(request)
        route = match[0].prefix
        if (
            match[0].area == "functions"
        ):  # what stands behind the name is the project's own, and may be a secret
            path = "/".join(path.split("/")[:4])
        attributes = {
            "http.request.method": request.method,
            "http.route": route,
            "url.path": path[:_LONGEST_PATH],
            "url.scheme": request.scheme,
        }
        carrier = {name: request.headers[name] for name in _CARRIED if name in request.headers}
        with tracing.server_span(f"{request.method} {route}", carrier, attributes) as span:
            sent = await handle(request)
            if (id := sent.headers.get("x-request-id")) is not None:
                span.note("headwater.request_id", id)
            span.answered(sent.status)
            return sent

    return answer


_CARRIED = ("traceparent", "tracestate")
