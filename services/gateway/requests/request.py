"""A request at the gateway: what was read of its head, and what the steps of `Edge.handle` learn about it."""

import re
from collections.abc import Mapping, Sequence

from aiohttp import web
from msgspec import Struct

from schemas.caller import Caller
from schemas.http import Headers, header_values
from schemas.settings.auth import Auth
from services.gateway.requests.routes import GatewayRoute, route_of
from services.gateway.requests.session_cookies import hide_session
from services.middleware.limits import Network, client_address, is_in_networks
from services.middleware.proxy_trust import PROXY_SECRET, ProxyTrust
from services.middleware.request_id import request_id

_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
_ENDS_HERE = _HOP_BY_HOP | {PROXY_SECRET}
"""Headers of a request that nothing behind the gateway sees."""
FRAMING = _HOP_BY_HOP | {"content-length", "server"}
"""Headers of a response that only the gateway sets."""
UNSENDABLE = re.compile("[\0-\x08\x0a-\x1f\x7f]")
"""Characters that a header must not contain: aiohttp refuses to send them."""
_USUAL_CONNECTION = (b"keep-alive", b"close")
_ADDRESS_HEADERS = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""Headers in which proxies report the client: a client must not remove them by naming them in Connection."""
_LISTS = frozenset({"if-match", "if-none-match", "accept", "accept-encoding"})
_header_names: dict[bytes, str] = {}
_MAX_CACHED_NAMES = 1024
_MAX_CACHED_LENGTH = 64


class GatewayRequest(Struct, eq=False):
    """One request. `Edge.handle` fills `response_headers`, `key` and `caller` before the handler runs."""

    http: web.BaseRequest
    id: str
    method: str
    url_length: int
    path: str
    query: str
    headers: Headers
    first: dict[str, str]
    """The first header of each name, names in lower case; of conditions and of what is accepted, all lines joined."""
    route: GatewayRoute | None
    below: str
    """The path that the pool receives: below the route's mount."""
    trusted: Sequence[Network]
    """Networks of the proxies whose forwarding headers count."""
    address_headers: Sequence[str] = ()
    """Headers, in lower case, that name the client's address before X-Forwarded-For does."""
    response_headers: Headers = []
    """Headers of every response: CORS and the request id."""
    is_sampled: bool = False
    """It leaves log lines although it is successful and quick."""
    key: str | None = None
    caller: Caller | None = None
    """None until the caller is authenticated; a handler that authenticates by itself receives None."""

    def __repr__(self) -> str:
        """Return nothing that may be a secret: the key, headers and the query are left out."""
        return f"{type(self).__name__}({self.id!r}, {self.method!r}, {self.path!r})"

    @property
    def area(self) -> str:
        """Return the area of the route, empty without a route: it decides the shape of errors."""
        return self.route.area if self.route is not None else ""

    def api_key(self) -> str | None:
        """Return the API key: from the header, or from the query for clients that cannot set headers."""
        key = self.first.get("apikey")
        if not key and "apikey=" in self.query:
            key = self.http.rel_url.query.get("apikey")
        return key

    def client_address(self) -> str:
        """Return the client's address. A header may come in several lines; the nearest proxy wrote the last one.

        Of `address_headers` and X-Forwarded-For the first one counts that names an address outside the trusted networks.
        All of them count only from a trusted proxy: a client that connects directly cannot choose its address.
        """
        peer = self.http.remote or ""
        if not self.trusted:
            return peer
        for name in self.address_headers:
            hops = header_values(self.headers, name)
            if hops and not is_in_networks(
                address := client_address(peer, ",".join(hops), self.trusted), self.trusted
            ):
                return address
        hops = header_values(self.headers, "x-forwarded-for")
        return client_address(peer, ",".join(hops) if hops else None, self.trusted)

    def is_from_trusted_proxy(self) -> bool:
        """Return whether the peer is a proxy whose forwarding headers count."""
        return is_in_networks(self.http.remote or "", self.trusted)

    def is_from_unknown_proxy(self) -> bool:
        """Return whether the request carries forwarding headers of a proxy that is not trusted."""
        return self.client_address() == self.http.remote and not _ADDRESS_HEADERS.isdisjoint(self.first)


def address_headers_of(auth: Auth) -> tuple[str, ...]:
    """Return the headers that name the client's address for auth, the most important first, in lower case."""
    first = ("sb-forwarded-for",) if auth.sb_forwarded_for_enabled else ()
    header = auth.rate_limit.header.strip().lower()
    return (*first, header) if header and header != "x-forwarded-for" else first


def read_request(
    request: web.BaseRequest,
    trust: ProxyTrust,
    address_headers: Mapping[str, Sequence[str]] | None = None,
) -> GatewayRequest:
    """Read the head of a request and find its route. `address_headers` are by area.

    A proxy that shows the secret names the client in X-Forwarded-For alone: it passes other headers on as its client sent them.
    """
    is_shown = trust.is_shown(request.raw_headers)
    headers = received_headers(request)
    first = first_headers(headers)
    target = request.raw_path
    if not target.startswith("/"):  # absolute form, as sent to proxies (RFC 9112, 3.2.2)
        target = request.rel_url.raw_path_qs
    path, _, query = target.partition("?")
    match = route_of(path, request.method)
    if "cookie" in first:
        headers = hide_session(match[0] if match else None, headers)
        first = first_headers(headers)
    return GatewayRequest(
        http=request,
        id=request_id(first.get("x-request-id")),
        method=request.method,
        url_length=len(target),
        path=path,
        query=query.partition("#")[0],
        headers=headers,
        first=first,
        route=match[0] if match else None,
        below=match[1] if match else "",
        trusted=trust.networks_for(request.remote or "", is_shown=is_shown),
        address_headers=(
            address_headers.get(match[0].area, ()) if address_headers and match and not is_shown else ()
        ),
    )


def first_headers(headers: Headers) -> dict[str, str]:
    """Return the first header of each name, and all lines of those that are lists."""
    first = dict(reversed(headers))
    if len(first) != len(headers):
        _join_lines(first, headers)
    return first


def _join_lines(first: dict[str, str], headers: Headers) -> None:
    """Join the lines of headers that are lists: a condition applies with all its tags (RFC 9110, 5.3)."""
    for name in _LISTS.intersection(first):
        first[name] = ", ".join(header_values(headers, name))


def received_headers(request: web.BaseRequest) -> Headers:
    """Return the client's headers, names in lower case, without those that end here and those that Connection names."""
    return headers_of(request.raw_headers)


def headers_of(raw_headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Return headers as `received_headers` does, from the bytes that were received."""
    headers: Headers = []
    nominated: set[str] = set()
    for raw_name, value in raw_headers:
        name = _header_names.get(raw_name)
        if name is None:
            name = _cache_name(raw_name)
        if name:
            headers.append((name, value.decode("utf-8", "replace")))
        elif value.lower() not in _USUAL_CONNECTION and raw_name.lower() == b"connection":
            nominated |= {option.strip().lower() for option in value.decode("latin-1").split(",")}
    if nominated:
        headers = [pair for pair in headers if pair[0] not in nominated - _ADDRESS_HEADERS]
    return headers


def _cache_name(raw: bytes) -> str:
    """Return a header's name in lower case, empty for headers that end here. Clients send few names, so they are cached."""
    name = raw.decode("latin-1").lower()
    if name in _ENDS_HERE:
        name = ""
    if len(_header_names) < _MAX_CACHED_NAMES and len(raw) <= _MAX_CACHED_LENGTH:
        _header_names[raw] = name
    return name
