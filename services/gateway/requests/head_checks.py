"""What the HTTP parser lets pass though it is not valid: other HTTP versions, and hosts that are none. Pure.

A proxy that reads such a head otherwise than we do would send a request elsewhere, or cache the answer under another name
(request smuggling, cache poisoning), so it is rejected. Source: RFC 9112, 2.3, 3.2 and 3.2.2; RFC 9110, 4.2.4 and 15.6.6.
"""

import ipaddress
import re

from aiohttp import HttpVersion10, HttpVersion11, web

from schemas.bounded_cache import BoundedCache

_NAME = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(?::[0-9]*)?")
_LITERAL = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]*)?")
_CACHED = 1024
_LONGEST_CACHED = 256
_valid_hosts: BoundedCache[str, bool] = BoundedCache(_CACHED)
_UNKNOWN_METHOD = re.compile(r"b['\"][A-Za-z0-9!#$%&'*+.^_`|~-]+ ")


def head_fault(http: web.BaseRequest, host: str | None) -> tuple[int, str] | None:
    """Return the status and message with which a head is rejected; None for a valid one. `host` is its `Host`."""
    version = http.version
    if version != HttpVersion11 and version != HttpVersion10:
        if version.major == 0:  # the parser reads a request line without a version as HTTP/0.9
            return 400, "The request line has no HTTP version: send HTTP/1.1"
        return 505, f"HTTP/{version.major}.{version.minor} is not spoken here: send HTTP/1.1"
    if host and not is_valid_host(host):
        return 400, "The Host header is not a host with an optional port"
    if http.raw_path[:1] not in ("/", "*"):
        if http.method == "CONNECT":
            return 501, "The gateway is no proxy"
        if not is_valid_host(_authority(http)):
            return 400, "The URL in the request line names no valid host"
    return None


def answer_in_http11(http: web.BaseRequest) -> None:
    """Make aiohttp answer in HTTP/1.1: it writes the version of the request in the status line."""
    http._version = HttpVersion11
    http._cache.pop("version", None)  # `request.version` is cached there


def is_valid_host(host: str) -> bool:
    """Return whether a text is a host with an optional port: a name, an IPv4 address, or an IPv6 address in brackets."""
    cached = _valid_hosts.get(host)
    if cached is not None:
        return cached
    valid = _is_valid(host)
    if len(host) <= _LONGEST_CACHED:
        _valid_hosts.put(host, valid)
    return valid


def is_unknown_method(parser_message: str) -> bool:
    """Return whether the parser rejected a head for a method that is well formed but unknown to it."""
    return parser_message.startswith("Invalid method") and _UNKNOWN_METHOD.search(parser_message) is not None


def _is_valid(host: str) -> bool:
    literal = _LITERAL.fullmatch(host)
    if literal is None:
        return _NAME.fullmatch(host) is not None
    try:
        ipaddress.IPv6Address(literal[1])
    except ValueError:
        return False
    return True


def _authority(http: web.BaseRequest) -> str:
    """Return what stands between `//` and the path of a request line in absolute form."""
    return http.raw_path.partition("//")[2].partition("/")[0].partition("?")[0]
