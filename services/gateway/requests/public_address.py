"""The URL under which a client reached storage, for the `Location` of a response.

    storage.public_url, else api.external_url       set by the operator
    X-Forwarded-Proto, -Host, -Port, -Prefix        set by a trusted proxy
    the request's own scheme and Host               else

Of lists the first value counts: the proxy that the client spoke to. What is malformed is passed over.
Source: docs/reference/storage.md, section 15.6.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from aiohttp import web

from services.middleware.limits import is_in_networks
from services.middleware.proxy_trust import ProxyTrust

PREFIX = "/storage/v1"
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
_PORT = re.compile(r"[0-9]{1,5}")
_FOLDERS = re.compile(r"(?:/[A-Za-z0-9._~%-]+)+")
_USUAL = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class PublicAddress:
    """Where the storage is, for clients. `url` is what the operator says, empty if nothing."""

    url: str = ""
    trust: ProxyTrust = field(default_factory=ProxyTrust)

    def of(self, request: web.BaseRequest, headers: Mapping[str, str]) -> str:
        """Return the URL of the storage, without a slash at its end. `headers` have names in lower case."""
        if self.url:
            return with_prefix(self.url)
        peer, is_shown = request.remote or "", self.trust.is_shown(request.raw_headers)
        is_trusted = is_in_networks(peer, self.trust.networks_for(peer, is_shown=is_shown))
        return url_from_headers(headers, request.scheme, is_trusted=is_trusted)


def url_from_headers(headers: Mapping[str, str], scheme: str, *, is_trusted: bool) -> str:
    """Return the URL of storage from the headers of a request; the path alone if they contain no host."""
    origin = origin_from_headers(headers, scheme, is_trusted=is_trusted)
    if not origin:
        return PREFIX
    folders = _first(headers, "x-forwarded-prefix").rstrip("/") if is_trusted else ""
    return with_prefix(f"{origin}{folders if _FOLDERS.fullmatch(folders) else ''}")


def origin_from_headers(headers: Mapping[str, str], scheme: str, *, is_trusted: bool) -> str:
    """Return scheme, host and port under which the client sent a request; empty if the headers contain no host."""
    forwarding = headers if is_trusted else {}
    proto = _first(forwarding, "x-forwarded-proto").lower()
    scheme = proto if proto in _USUAL else scheme
    forwarded = _HOST.fullmatch(_first(forwarding, "x-forwarded-host"))
    host = forwarded or _HOST.fullmatch(headers.get("host", ""))
    if host is None:
        return ""
    port = _first(forwarding, "x-forwarded-port")
    if (forwarded and forwarded["port"]) or not _PORT.fullmatch(port):
        port = host["port"] or ""
    port_suffix = f":{port}" if port and port != _USUAL[scheme] else ""
    return f"{scheme}://{host['name']}{port_suffix}"


def with_prefix(url: str) -> str:
    """Append the prefix of storage to a URL, unless the URL ends with it already."""
    bare = url.rstrip("/")
    return bare if urlsplit(bare).path.endswith(PREFIX) else f"{bare}{PREFIX}"


def _first(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name, "").partition(",")[0].strip()
