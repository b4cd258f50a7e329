"""The line of a request: what it shows of the path, of the caller and of a client that went away."""

from types import SimpleNamespace

import msgspec
import pytest
from aiohttp import web

from broker.observability.log_buffer import LogBuffer
from schemas.caller import AnonymousCaller, Caller, UserCaller
from schemas.logs import LogRecord
from schemas.settings.log import LogStoreSettings
from services.gateway.access_lines import AccessLines
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.routes import route_of

_QUIET = LogStoreSettings(requests=0.0, requests_per_second=0)


def request_of(path: str, caller: Caller | None = None, *, is_sampled: bool = True) -> GatewayRequest:
    """Return a request of a client at 10.0.0.1."""
    http = SimpleNamespace(remote="10.0.0.1")
    route, below = route_of(path, "GET") or (None, "")
    request = GatewayRequest(http, "r-1", "GET", 0, path, "secret=1", [], {}, route, below, ())  # type: ignore[arg-type]  # a line reads only what is given here
    request.caller, request.is_sampled = caller, is_sampled
    return request


def line_of(
    request: GatewayRequest, sent: web.StreamResponse | None, duration_s: float = 0.002
) -> LogRecord | None:
    """Return the line that a request leaves."""
    buffer = LogBuffer("edges", _QUIET)
    AccessLines(buffer).note(request, sent, duration_s)
    batch = buffer.take("host:1")
    return None if batch is None else msgspec.msgpack.decode(batch.lines[0], type=LogRecord)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/rest/v1/items", "GET /rest/v1/items"),
        ("/functions/v1/hello/secret/path", "GET /functions/v1/hello"),
        ("/realtime/v1/api/broadcast/topic", "GET /realtime/v1/api"),
        ("/storage/v1/upload/resumable/an-id", "GET /storage/v1/upload/resumable"),
        ("/storage/v1/object/bucket/name", "GET /storage/v1/object/bucket/name"),
        ("/rest/v1/" + "x" * 5000, f"GET {('/rest/v1/' + 'x' * 5000)[:512]}..."),
    ],
)
def test_paths(path: str, shown: str) -> None:
    line = line_of(request_of(path), web.Response(status=200))

    assert line is not None
    assert line.text == shown


@pytest.mark.parametrize(
    ("caller", "user"),
    [
        (UserCaller(b'{"sub":"u-1","role":"authenticated"}'), "u-1"),
        (UserCaller(b'{"role":"authenticated"}'), ""),
        (UserCaller(b'{"sub":7}'), ""),
        (AnonymousCaller(), ""),
        (None, ""),
    ],
)
def test_users(caller: Caller | None, user: str) -> None:
    line = line_of(request_of("/rest/v1/items", caller), web.Response(status=200, body=b"four"))

    assert line is not None
    assert (line.user, line.fields, line.area, line.request_id) == (
        user,
        {"client": "10.0.0.1", "bytes": 4},
        "rest",
        "r-1",
    )


def test_failed_and_slow_requests_always_leave_a_line() -> None:
    request = request_of("/rest/v1/items", is_sampled=False)

    assert line_of(request, web.Response(status=200)) is None
    levels = {}
    for status in (404, 500, 503):
        line = line_of(request, web.Response(status=status))
        assert line is not None
        levels[status] = line.level
    slow, gone = line_of(request, web.Response(status=200), 1.5), line_of(request, None)
    assert levels == {404: "info", 500: "error", 503: "warning"}
    assert slow is not None
    assert slow.duration_ms == 1500
    assert gone is not None
    assert gone.status == 499


def test_health_leaves_a_line_when_it_fails() -> None:
    assert line_of(request_of("/health/ready"), web.Response(status=200)) is None
    assert line_of(request_of("/health/ready"), web.Response(status=503)) is not None
