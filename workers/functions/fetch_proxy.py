"""A proxy through which modules are fetched: it connects to what functions may reach, and to nothing that is closed to them.

The program that fetches runs without the permissions of a function, and hostile sources tell it where to connect: `.npmrc` names
a registry, and a registry names the address of each package. So it is given this proxy, for as long as it runs, and Landlock
(Linux 6.7) lets it connect to the proxy's port alone.

    CONNECT host:port            the usual way, for https
    GET http://host:port/path    for registries without TLS

A name is resolved here, once; all its addresses are judged, and one that was judged is connected to. So a name cannot stand for
another address behind the check. A password keeps out other processes of this machine: functions that may reach few hosts.
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
def fetch_proxy(closed: Iterable[str]) -> Iterator[FetchProxy]:
    """Run a proxy until the end; `closed` is written as functions' `--deny-net` (inner.py)."""
    password = secrets.token_urlsafe(24)
    with _Server(("127.0.0.1", 0), _Client) as server:
        server.closed = closed_networks(closed)
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
    """Return networks with their ports, None for all; names are left out, for their addresses are entries too (pure)."""
    found: list[tuple[Network, int | None]] = []
    for entry in entries:
        parts = _ENTRY.fullmatch(entry)
        with contextlib.suppress(ValueError):
            if parts is not None:
                found.append(
                    (ipaddress.ip_network(parts[1] or parts[2]), int(parts[3]) if parts[3] else None)
                )
    return tuple(found)


def is_closed(address: str, port: int, closed: Closed) -> bool:
    """Return whether an address is closed; one of IPv4 in the form of IPv6 is the former (pure)."""
    one = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(one, ipaddress.IPv6Address) and one.ipv4_mapped is not None:
        one = one.ipv4_mapped
    if one.is_unspecified:  # stands for this machine
        one = ipaddress.ip_address("127.0.0.1")
    return any(only in (None, port) and one in network for network, only in closed)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    closed: Closed = ()
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
            if not self._is_known(fields):
                self._answer("407 Proxy Authentication Required")
                return
            parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
            host, port = parts.hostname or "", parts.port or (443 if method == "CONNECT" else 80)
            upstream = self._connected(host, port)
            if upstream is None:
                self._answer("403 Forbidden")
                return
            with upstream:
                if method == "CONNECT":
                    self._answer("200 Connection established", closes=False)
                else:
                    path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
                    kept = [
                        field for field in fields if not field.lower().startswith((b"proxy-", b"connection:"))
                    ]
                    lines = [f"{method} {path} HTTP/1.1".encode(), *kept, b"Connection: close", b"", b""]
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

    def _is_known(self, fields: list[bytes]) -> bool:
        sent = (field.partition(b":") for field in fields)
        return any(
            name.lower() == b"proxy-authorization"
            and hmac.compare_digest(value.strip(), self.server.expected)
            for name, _, value in sent
        )

    def _connected(self, host: str, port: int) -> socket.socket | None:
        """Return a connection to a host; None if one of its addresses is closed. Raises: OSError."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(each[4][0]) for each in found]
        if any(is_closed(address, port, self.server.closed) for address in addresses):
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


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Copy bytes both ways until both have ended, or nothing comes for a while."""
    opposite = {one: other, other: one}
    reading = [one, other]
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
