"""Heads between a client and the gateway of a project (pure).

Request smuggling: the head is serialized from what our parser read. Headers of one connection go no further, those that `Connection`
names included, and of the length of a body nothing is passed on but what our own connection uses.
Source: RFC 9110, 7.6; RFC 9112, 6.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from multidict import CIMultiDict

from services.middleware.proxy_trust import PROXY_SECRET

_SECRET = PROXY_SECRET.encode()
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-authentication-info",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_FORWARDING = frozenset(
    {
        b"forwarded",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-forwarded-prefix",
        b"x-forwarded-proto",
        b"x-forwarded-protocol",
        b"x-forwarded-scheme",
        b"x-forwarded-server",
        b"x-forwarded-ssl",
        b"x-real-ip",
        b"x-original-host",
        b"x-original-url",
        b"x-rewrite-url",
        _SECRET,
    }
)
"""Headers that speak for the client. Those of the request are dropped always; ours are made of what is known."""
_NOT_PASSED_ON = _HOP_BY_HOP | _FORWARDING | {b"host", b"content-length", b"expect", b"http2-settings"}
_COOKIE = frozenset({b"cookie"})
_SET_COOKIE = frozenset({b"set-cookie", b"set-cookie2"})
_NAMED_NEVER = frozenset(
    {b"host", b"content-length", b"content-type", b"authorization", b"apikey", b"cookie", b"set-cookie"}
)
"""Headers that a `Connection` header cannot take away: that would change what the message means."""
_COOKIE_DOMAIN = re.compile(r";\s*domain\s*=[^;]*", re.IGNORECASE)

RawHeaders = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class ForwardedClient:
    """What the project receives about its client: address, the host and scheme that it used, and the prefix that was taken off the path.

    `proxy_secret` proves to the project's gateway that the front gateway says so.
    """

    address: str
    host: str
    scheme: str
    prefix: str = ""
    proxy_secret: str = field(default="", repr=False)


def request_head(
    method: str,
    path: str,
    received: RawHeaders,
    client: ForwardedClient,
    *,
    length: int | None = None,
    is_chunked: bool = False,
    is_websocket: bool = False,
) -> bytes:
    """Return the head of a request to a project's gateway, as the bytes of the wire."""
    dropped = _NOT_PASSED_ON | _named(received)
    if client.prefix:
        dropped |= _COOKIE
    lines = [f"{method} {path} HTTP/1.1\r\nHost: {client.host}".encode(errors="surrogateescape")]
    lines += [b"%b: %b" % pair for pair in received if pair[0].lower() not in dropped]
    lines.append(
        f"X-Forwarded-For: {client.address}\r\nX-Forwarded-Host: {client.host}\r\nX-Forwarded-Proto: {client.scheme}".encode(
            errors="surrogateescape"
        )
    )
    if client.proxy_secret:
        lines.append(b"%b: %b" % (_SECRET, client.proxy_secret.encode()))
    if client.prefix:
        lines.append(b"X-Forwarded-Prefix: %b" % client.prefix.encode())
    if length is not None:
        lines.append(b"Content-Length: %d" % length)
    elif is_chunked:
        lines.append(b"Transfer-Encoding: chunked")
    if is_websocket:
        lines.append(b"Connection: Upgrade\r\nUpgrade: websocket")
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def response_headers(
    received: RawHeaders, *, prefix: str, public_url: str = "", is_websocket: bool = False
) -> CIMultiDict[str]:
    """Return the headers of a response to the client. Cookies belong to the host that set them, and to no path.

    Below a path (`prefix`), redirections to the project's own address (`public_url`) or its root stay below the path.
    """
    dropped = _HOP_BY_HOP | _named(received)
    if prefix:
        dropped |= _SET_COOKIE
    headers = CIMultiDict(
        (name.decode(), value.decode(errors="replace"))
        for name, value in received
        if name.lower() not in dropped
    )
    if "Set-Cookie" in headers:
        cookies = headers.popall("Set-Cookie")
        headers.extend([("Set-Cookie", _COOKIE_DOMAIN.sub("", cookie)) for cookie in cookies])
    if prefix and "Location" in headers:
        headers["Location"] = _below(headers["Location"], prefix, public_url)
    if is_websocket:
        headers["Connection"], headers["Upgrade"] = "Upgrade", "websocket"
    return headers


def is_websocket_request(method: str, received: RawHeaders) -> bool:
    """Return whether a request asks for a WebSocket. No other protocol is switched to. Source: RFC 6455, 4.1."""
    if method != "GET":
        return False
    upgrades = [value.strip().lower() for name, value in received if name.lower() == b"upgrade"]
    return upgrades == [b"websocket"] and b"upgrade" in _options(received)


def _options(received: RawHeaders) -> set[bytes]:
    """Return what `Connection` names."""
    return {
        option.strip().lower()
        for name, value in received
        if len(name) == 10 and name.lower() == b"connection"
        for option in value.split(b",")
    }


def _named(received: RawHeaders) -> set[bytes]:
    return _options(received) - _NAMED_NEVER


def _below(location: str, prefix: str, public_url: str) -> str:
    """Return a redirection as it is below the path of a project; one to elsewhere stays as it is."""
    if public_url and location.startswith(f"{public_url}/"):
        location = location.removeprefix(public_url)
    if not location.startswith("/") or location.startswith(("//", f"{prefix}/")):
        return location
    return prefix + location
