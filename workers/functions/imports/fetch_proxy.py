"""HTTP proxy for the program that fetches modules: it connects to addresses that functions may reach, and to no denied one.

The program that fetches runs without a function's Deno permissions, and hostile sources decide where it connects: `.npmrc` names a
registry, and a registry names the address of each package. So it gets this proxy while it runs, and Landlock (Linux 6.7) lets it
connect to the proxy's port only.

    CONNECT host:port            for https
    GET http://host:port/path    for registries without TLS

The proxy resolves a name once, checks all its addresses, and connects to one of those it checked. So a name cannot resolve to
another address after the check (DNS rebinding). A password keeps out other processes of this machine, such as functions that
may reach few hosts.
"""

import base64
import contextlib
import hmac
import ipaddress
import re
import secrets
import select
import socket
import socketserver
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Closed = tuple[tuple[Network, int | None], ...]
_ENTRY = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?")
_LONGEST_HEAD = 64 * 1024
_CONNECT_S, _IDLE_S = 10.0, 60.0
_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class FetchProxy:
    """A running proxy."""

    port: int
    url: str


@contextlib.contextmanager
def fetch_proxy(closed: Iterable[str], loopback: frozenset[int] | None = None) -> Iterator[FetchProxy]:
    """Run a proxy inside the context; `closed` has the format of functions' `--deny-net` (`host/denied_hosts.py`).

    `loopback`: the only ports of loopback that it connects to; None for all.
    """
    password = secrets.token_urlsafe(24)
    with _Server(("127.0.0.1", 0), _Client) as server:
        server.closed = closed_networks(closed)
        server.loopback = loopback
        server.expected = b"Basic " + base64.b64encode(f"fetch:{password}".encode())
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        port = int(server.server_address[1])
        try:
            yield FetchProxy(port, f"http://fetch:{password}@127.0.0.1:{port}")
        finally:
            server.shutdown()
            thread.join()


def closed_networks(entries: Iterable[str]) -> Closed:
    """Return networks with their ports, None for all ports; names are skipped, because their addresses are entries, too (pure)."""
    networks: list[tuple[Network, int | None]] = []
    for entry in entries:
        parts = _ENTRY.fullmatch(entry)
        with contextlib.suppress(ValueError):
            if parts is not None:
                networks.append(
                    (ipaddress.ip_network(parts[1] or parts[2]), int(parts[3]) if parts[3] else None)
                )
    return tuple(networks)


def is_closed(address: str, port: int, closed: Closed, loopback: frozenset[int] | None = None) -> bool:
    """Return whether an address is denied; an IPv4 address in IPv6 form counts as IPv4 (pure).

    `loopback`: the ports of loopback that are not denied; None for all.
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    if parsed.is_unspecified:  # 0.0.0.0 connects to this machine
        parsed = ipaddress.ip_address("127.0.0.1")
    if loopback is not None and parsed.is_loopback and port not in loopback:
        return True
    return any(closed_port in (None, port) and parsed in network for network, closed_port in closed)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    closed: Closed = ()
    loopback: frozenset[int] | None = None
    expected = b""


class _Client(socketserver.BaseRequestHandler):
    """One connection of the program that fetches."""

    request: socket.socket
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(_IDLE_S)
        with contextlib.suppress(OSError, ValueError):
            head, rest = self._head()
            line, *fields = head.split(b"\r\n")
            method, target, _ = line.decode("ascii").split(" ")
            if not self._is_authorized(fields):
                self._answer("407 Proxy Authentication Required")
                return
            parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
            host, port = parts.hostname or "", parts.port or (443 if method == "CONNECT" else 80)
            upstream = self._connect(host, port)
            if upstream is None:
                self._answer("403 Forbidden")
                return
            with upstream:
                if method == "CONNECT":
                    self._answer("200 Connection established", closes=False)
                else:
                    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
                    forwarded = [
                        field for field in fields if not field.lower().startswith((b"proxy-", b"connection:"))
                    ]
                    lines = [f"{method} {path} HTTP/1.1".encode(), *forwarded, b"Connection: close", b"", b""]
                    upstream.sendall(b"\r\n".join(lines))
                upstream.sendall(rest)
                _relay(self.request, upstream)

    def _head(self) -> tuple[bytes, bytes]:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.request.recv(_PIECE)
            if not piece or len(data) > _LONGEST_HEAD:
                raise ValueError("no request")
            data += piece
        head, _, rest = data.partition(b"\r\n\r\n")
        return head, rest

    def _is_authorized(self, fields: list[bytes]) -> bool:
        sent = (field.partition(b":") for field in fields)
        return any(
            name.lower() == b"proxy-authorization"
            and hmac.compare_digest(value.strip(), self.server.expected)
            for name, _, value in sent
        )

    def _connect(self, host: str, port: int) -> socket.socket | None:
        """Return a connection to a host; None if one of its addresses is denied. Raises: OSError."""
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(answer[4][0]) for answer in answers]
        if any(is_closed(address, port, self.server.closed, self.server.loopback) for address in addresses):
            return None
        error: OSError | None = None
        for address in dict.fromkeys(addresses):
            try:
                return socket.create_connection((address, port), _CONNECT_S)
            except OSError as failed:
                error = failed
        raise error or OSError("the name has no address")

    def _answer(self, status: str, *, closes: bool = True) -> None:
        more = "Proxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n" if closes else ""
        self.request.sendall(f"HTTP/1.1 {status}\r\n{more}\r\n".encode())


def _relay(parsed: socket.socket, other: socket.socket) -> None:
    """Copy bytes both ways until both sides have ended, or no bytes arrive for `_IDLE_S`."""
    opposite = {parsed: other, other: parsed}
    reading = [parsed, other]
    while reading:
        ready, _, _ = select.select(reading, [], [], _IDLE_S)
        if not ready:
            return
        for source in ready:
            data = source.recv(_PIECE)
            if data:
                opposite[source].sendall(data)
            else:
                reading.remove(source)
                with contextlib.suppress(OSError):
                    opposite[source].shutdown(socket.SHUT_WR)
