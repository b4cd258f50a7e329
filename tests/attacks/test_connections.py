"""Connections that send nothing, a byte now and then, or come in masses from one address; and pictures made without end.

The platform of this module has the limits of the settings, only smaller, so that nothing has to be waited for.
"""

import contextlib
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.platform import Platform, platform
from tests.workers.images import samples

_HEADER_S = 0.5
_MOST = 40
_BURST = 5
_PATIENCE_S = 60


@pytest.fixture(scope="module")
def tight() -> Iterator[Platform]:
    """A platform with small limits."""
    environment = {
        "HEADWATER_GATEWAY_HEADER_TIMEOUT": str(_HEADER_S),
        "HEADWATER_GATEWAY_MAX_CONNECTIONS_PER_ADDRESS": str(_MOST),
        "HEADWATER_STORAGE_IMAGE_TRANSFORMATION_RENDITIONS_PER_CLIENT": "0.001",
        "HEADWATER_STORAGE_IMAGE_TRANSFORMATION_RENDITIONS_PER_CLIENT_BURST": str(_BURST),
    }
    with platform(environment=environment) as running:
        yield running


def _until_closed(connection: socket.socket) -> bytes:
    """Return what comes until the platform closes the connection. It fails with the patience of the test."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            received += piece
    return received


def _open(target: Platform) -> socket.socket:
    return socket.create_connection(("127.0.0.1", target.port), timeout=_PATIENCE_S)


def test_a_connection_that_sends_nothing_is_closed(tight: Platform) -> None:
    with _open(tight) as connection:
        assert _until_closed(connection) == b""


def test_a_head_that_comes_byte_by_byte_gets_no_more_time(tight: Platform) -> None:
    with _open(tight) as connection:
        connection.settimeout(0.05)
        deadline = time.monotonic() + _PATIENCE_S
        is_closed = False
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n")
            while time.monotonic() < deadline and not is_closed:
                connection.sendall(b"x")
                with contextlib.suppress(TimeoutError):
                    is_closed = connection.recv(100) == b""
        assert time.monotonic() < deadline


def test_one_address_has_so_many_connections(tight: Platform) -> None:
    head = b"GET /realtime/v1/websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\napikey: " \
        + tight.values["ANON_KEY"].encode() + b"\r\n\r\n"  # fmt: skip
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(_MOST + 10):
            connection = stack.enter_context(_open(tight))
            with contextlib.suppress(ConnectionError):
                connection.sendall(head)
                answers.append(connection.recv(12))

    served = [answer for answer in answers if answer == b"HTTP/1.1 101"]
    assert _MOST - 10 <= len(served) <= _MOST
    assert tight.get("/health/live")[0] == 200


def _send(target: Platform, method: str, path: str, body: bytes | None, kind: str) -> None:
    key = target.values["SERVICE_ROLE_KEY"]
    headers = {"authorization": f"Bearer {key}", "apikey": key, "content-type": kind}
    request = urllib.request.Request(target.url + path, headers=headers, method=method, data=body)
    urllib.request.urlopen(request, timeout=_PATIENCE_S).close()


def _picture(target: Platform, width: int, token: str = "") -> tuple[int, str | None]:
    kind = "authenticated" if token else "public"
    address = f"{target.url}/storage/v1/render/image/{kind}/pictures/a.png?width={width}"
    request = urllib.request.Request(
        address, headers={"authorization": f"Bearer {token}", "apikey": token} if token else {}
    )
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:
            return answer.status, None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["retry-after"]


def test_new_pictures_of_a_client_without_a_token_are_counted(tight: Platform) -> None:
    _send(
        tight,
        "POST",
        "/storage/v1/bucket",
        json.dumps({"name": "pictures", "public": True}).encode(),
        "application/json",
    )
    picture = samples.written(samples.quarters(80, 40), "png")
    _send(tight, "POST", "/storage/v1/object/pictures/a.png", picture, "image/png")

    first = [_picture(tight, width)[0] for width in range(10, 10 + _BURST)]
    refused, after = _picture(tight, 30)
    again = [_picture(tight, width)[0] for width in range(10, 10 + _BURST)]
    service = _picture(tight, 31, tight.values["SERVICE_ROLE_KEY"])[0]

    assert first == again == [200] * _BURST
    assert (refused, service) == (429, 200)
    assert int(after or 0) > 0
