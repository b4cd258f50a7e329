"""What the gateway answers to heads that are not valid HTTP/1.1 (RFC 9110, RFC 9112)."""

import pytest

from tests.services.gateway.pool import Pool
from tests.services.gateway.running_gateway import KEYS, RunningGateway, fresh_id
from tests.services.gateway.wire import connected

_KEY = f"apikey: {KEYS.anon_key}\r\n".encode()
_LINE = b"GET /rest/v1/items HTTP/1.1\r\n"


async def status_of(gateway: RunningGateway, data: bytes) -> tuple[int, bytes]:
    """Send bytes; return the status of the answer and all that came until the server closed the connection."""
    async with connected(gateway.port) as wire:
        await wire.send(data)
        received = await wire.rest()
    assert received.startswith(b"HTTP/1.1 "), received[:40]
    return int(received.split(b" ", 2)[1]), received


@pytest.mark.parametrize(
    "host",
    [
        "a b",
        "user@host",
        "[::1",
        "::1",
        "[::1]x",
        "[::g]",
        "a/b",
        "a,b:c:d",
        "a:b",
        "a?b",
        "a#b",
        "[]",
        "ä",
        "a%2",
        "\\",
    ],
)
async def test_a_host_that_is_none_is_rejected(gateway: RunningGateway, host: str) -> None:
    status, received = await status_of(gateway, _LINE + f"Host: {host}\r\n".encode() + _KEY + b"\r\n")

    assert status == 400
    assert b"The Host header is not a host" in received


@pytest.mark.parametrize("host", ["", "a", "a:", "a.b:80", "[::1]", "[::1]:80", "1.2.3.4", "a_b", "%41"])
async def test_any_valid_host_is_taken(gateway: RunningGateway, host: str) -> None:
    lines = f"Host: {host}\r\nConnection: close\r\n".encode()

    assert (await status_of(gateway, _LINE + lines + _KEY + b"\r\n"))[0] == 200


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /rest/v1/items HTTP/2.0", 505),
        (b"GET /rest/v1/items HTTP/1.2", 505),
        (b"GET /rest/v1/items HTTP/9.9", 505),
        (b"GET /rest/v1/items HTTP/3", 400),
        (b"GET /rest/v1/items HTTP/0.9", 400),
        (b"GET /rest/v1/items", 400),
        (b"GET /rest/v1/items http/1.1", 400),
        (b"GET http://user@host/rest/v1/items HTTP/1.1", 400),
        (b"BREW /rest/v1/items HTTP/1.1", 501),
        (b"get /rest/v1/items HTTP/1.1", 501),
        (b"G(T /rest/v1/items HTTP/1.1", 400),
        (b"CONNECT gateway.test:80 HTTP/1.1", 501),
    ],
)
async def test_a_request_line_that_is_not_ours_is_rejected_by_its_fault(
    gateway: RunningGateway, line: bytes, status: int
) -> None:
    answer, _ = await status_of(gateway, line + b"\r\nHost: gateway.test\r\n" + _KEY + b"\r\n")

    assert answer == status


@pytest.mark.parametrize(("version", "interim"), [(b"1.1", 1), (b"1.0", 0)])
async def test_only_http_1_1_gets_an_interim_answer(
    gateway: RunningGateway, version: bytes, interim: int
) -> None:
    head = (
        b"POST /rest/v1/items HTTP/%s\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n" % version
    )
    async with connected(gateway.port) as wire:
        await wire.send(head + _KEY + b"Content-Length: 2\r\n\r\n")
        await wire.send(b"{}")
        received = await wire.rest()

    assert received.count(b"100 Continue") == interim
    assert b" 200 OK" in received


@pytest.mark.parametrize("path", ["/", "/health/live", "/metrics", "/nowhere"])
@pytest.mark.parametrize("method", ["POST", "DELETE", "PROPFIND", "TRACE"])
async def test_paths_of_no_area_take_only_reads(gateway: RunningGateway, path: str, method: str) -> None:
    reply = await gateway.ask(method, path, key=None)

    expected = (404, None) if path == "/nowhere" else (405, "GET, HEAD, OPTIONS")
    assert (reply.status, reply.header("allow")) == expected


async def test_options_on_a_path_of_no_area_name_its_methods(gateway: RunningGateway) -> None:
    reply = await gateway.ask("OPTIONS", "/health/live", key=None)

    assert (reply.status, reply.header("allow")) == (204, "GET, HEAD, OPTIONS")


async def test_conditions_on_several_lines_reach_the_worker_as_they_came(
    gateway: RunningGateway, pool: Pool
) -> None:
    sent = [("If-None-Match", '"a"'), ("If-None-Match", '"b"'), ("X-Request-Id", fresh_id())]

    reply = await gateway.ask("GET", "/rest/v1/items", sent)

    assert [value for name, value in reply.json()["headers"] if name == "if-none-match"] == ['"a"', '"b"']


@pytest.mark.parametrize("path", ["/rest/v1/items", "/rest/v1/"])
async def test_an_error_of_a_missing_key_has_a_challenge(gateway: RunningGateway, path: str) -> None:
    reply = await gateway.ask("GET", path, key=None)

    assert (reply.status, reply.header("www-authenticate")) == (401, "Bearer")
