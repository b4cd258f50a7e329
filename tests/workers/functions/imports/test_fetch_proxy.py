"""The proxy through which modules are fetched."""

import base64
import http.server
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from workers.functions.imports.fetch_proxy import FetchProxy, closed_networks, fetch_proxy, is_closed


@pytest.fixture
def registry() -> Iterator[tuple[int, list[str]]]:
    """A server on this machine, and what it was asked for."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers['host']} {self.headers['proxy-authorization']}")
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, seen
        server.shutdown()


def sent(proxy: FetchProxy, lines: str, *, is_known: bool = True, then: str = "") -> bytes:
    """Send a request to the proxy, and another through it when it has answered; return all answers."""
    parts = urlsplit(proxy.url)
    password = base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    own = f"Proxy-Authorization: Basic {password}\r\n" if is_known else ""
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as one:
        one.settimeout(10)
        one.sendall(f"{lines}\r\n{own}\r\n".encode())
        got = b""
        while piece := one.recv(4096):
            got += piece
            if then and b"\r\n\r\n" in got:
                one.sendall(then.encode())
                then = ""
        return got


def test_connect_and_get_reach_allowed_addresses(registry: tuple[int, list[str]]) -> None:
    port, seen = registry
    with fetch_proxy(["127.0.0.0/8:1"]) as proxy:
        plain = sent(proxy, f"GET http://127.0.0.1:{port}/zod?x=1 HTTP/1.1\r\nHost: 127.0.0.1:{port}")
        ask = "GET /tunnelled HTTP/1.0\r\nHost: a\r\n\r\n"
        tunnelled = sent(proxy, f"CONNECT localhost:{port} HTTP/1.1\r\nHost: x", then=ask)

    assert plain.startswith((b"HTTP/1.0 200", b"HTTP/1.1 200"))
    assert plain.endswith(b"ok")
    assert tunnelled.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert tunnelled.endswith(b"ok")
    assert seen == [f"/zod?x=1 127.0.0.1:{port} None", "/tunnelled a None"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"])
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
def test_denied_addresses_cannot_be_reached(registry: tuple[int, list[str]], host: str, method: str) -> None:
    port, seen = registry
    target = f"{host}:{port}" if method == "CONNECT" else f"http://{host}:{port}/"
    with fetch_proxy([f"127.0.0.0/8:{port}", f"[::1]:{port}"]) as proxy:
        told = sent(proxy, f"{method} {target} HTTP/1.1\r\nHost: x")

    assert told.startswith(b"HTTP/1.1 403")
    assert seen == []


def test_the_proxy_requires_its_password(registry: tuple[int, list[str]]) -> None:
    port, seen = registry
    with fetch_proxy([]) as proxy:
        told = sent(proxy, f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x", is_known=False)

    assert told.startswith(b"HTTP/1.1 407")
    assert seen == []


@pytest.mark.parametrize(
    ("address", "port", "closed"),
    [
        ("169.254.169.254", 80, True), ("127.0.0.9", 4222, True), ("127.0.0.9", 80, False), ("::ffff:169.254.1.1", 1, True),
        ("fd00:ec2::254", 80, True), ("::", 4222, True), ("0.0.0.0", 4222, True), ("203.0.113.1", 4222, False), ("::1", 4222, True),
    ],
)  # fmt: skip
def test_addresses_are_compared_as_the_runtime_does(address: str, port: int, closed: bool) -> None:
    entries = [
        "169.254.0.0/16",
        "127.0.0.0/8:4222",
        "[::1]:4222",
        "[fd00:ec2::254]",
        "metadata.google.internal",
    ]

    assert is_closed(address, port, closed_networks(entries)) is closed
