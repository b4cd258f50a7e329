"""The redirect allow list: decides to which URLs a browser may be redirected with a result, and adds results to a URL. Pure.

A URL is parsed once, strictly, by the rules of browsers (WHATWG URL); one that a browser could read as another URL is
rejected before any pattern is tried. Patterns of web URLs are matched part by part (scheme, host and port, the rest), so that
a wildcard meant for one part never matches another (`https://*.example.com` must not match `https://evil.com/.example.com`).
A wildcard in place of the scheme stands for the web and for schemes of applications (`schemes.py`); any other scheme must be
spelled out. Sources: docs/reference/auth.md, sections 5.7, 11.2 and 20; WHATWG URL Standard, 4.4; RFC 8252, section 7.3.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote_plus, urlencode

from schemas.numbers import parse_whole_number
from workers.auth.model.redirects.globs import Glob, expand
from workers.auth.model.redirects.schemes import is_active, is_private_use

_MAX_LENGTH = 4096
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-_]*):(.*)", re.DOTALL)
_SPELLED_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-_]*:")
_WEB = re.compile(r"//([^/?#]+)(.*)", re.DOTALL)
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@]+)(?::([0-9]{1,5}))?")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?=/|$)", re.IGNORECASE)
_LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")
_USUAL_PORT = {"http": 80, "https": 443}
_WHOLE_HOST = re.compile(r"((?:[A-Za-z0-9-]+\.)+[A-Za-z][A-Za-z0-9-]*|localhost|[0-9.]+)(:[0-9]+)?(\*+)")


@dataclass(frozen=True, slots=True)
class _Address:
    """A parsed web URL: scheme and host in lower case, the effective port, the path and query."""

    scheme: str
    host: str
    port: int
    authority: str
    rest: str


@dataclass(frozen=True, slots=True)
class _Parts:
    """A pattern part by part. Scheme and authority are in lower case."""

    scheme: Glob
    authority: Glob
    rest: Glob


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One pattern: over the whole text, and split into parts where it contains `://`."""

    whole: Glob
    parts: _Parts | None
    names_scheme: bool = False
    """Whether the scheme is spelled out."""


class RedirectRules:
    """The site URL and the allow list of one project."""

    def __init__(self, site_url: str, allowed: Iterable[str] = ()) -> None:
        """Raises: BadGlob if a pattern is malformed."""
        self.site_url = site_url
        self._site = _web_address(site_url)
        self._patterns = [compiled for pattern in allowed for compiled in _compile(pattern.strip())]

    def allows(self, url: str) -> bool:
        """Return whether a browser may be redirected to a URL."""
        if not _is_plain(url):
            return False
        named = _SCHEME.fullmatch(url)
        if named is None or is_active(scheme := named[1].lower()):
            return False
        # The fragment is not part of the comparison: results replace it.
        text = url.partition("#")[0]
        if scheme not in _USUAL_PORT:
            patterns = (
                pattern for pattern in self._patterns if pattern.names_scheme or is_private_use(scheme)
            )
            return self._is_of_site_app(url) or any(pattern.whole.matches(text) for pattern in patterns)
        address = _web_address(url)
        if address is None:
            return False
        return self._is_of_site(address) or any(
            _matches(address, text, pattern) for pattern in self._patterns
        )

    def target(self, candidates: Iterable[str | None]) -> str:
        """Return the first candidate that is allowed, escaped for a `Location` header, else the site URL."""
        for url in candidates:
            if url and self.allows(url):
                return quote(url, safe="".join(chr(code) for code in range(33, 127)))
        return self.site_url

    def _is_of_site(self, address: _Address) -> bool:
        site = self._site
        if site is None or (site.scheme, site.host) != (address.scheme, address.host):
            return False
        return site.port == address.port or _is_loopback(site.host)

    def _is_of_site_app(self, url: str) -> bool:
        """Return whether the site URL has an application's own scheme and the URL has the same scheme and host."""
        site, requested = _SCHEME.fullmatch(self.site_url), _SCHEME.fullmatch(url)
        if site is None or requested is None or site[1].lower() != requested[1].lower():
            return False
        site_host, asked_host = _WEB.fullmatch(site[2]), _WEB.fullmatch(requested[2])
        if site_host is None or asked_host is None:
            return site[2] == requested[2]
        return site_host[1] == asked_host[1]


def with_query(url: str, fields: Mapping[str, str]) -> str:
    """Return a URL with fields set in its query, before the fragment. Fields of the same names are replaced: results are never
    mixed with values that the URL already carried.
    """
    head, hash_sign, fragment = url.partition("#")
    base, _, query = head.partition("?")
    parts = [part for part in query.split("&") if part]
    others = [part for part in parts if unquote_plus(part.partition("=")[0]) not in fields]
    return f"{base}?{'&'.join([*others, urlencode(sorted(fields.items()))])}{hash_sign}{fragment}"


def with_fragment(url: str, fields: Mapping[str, str]) -> str:
    """Return a URL whose fragment is replaced by fields, plus the empty `sb` by which clients recognise results."""
    return f"{url.partition('#')[0]}#{urlencode(sorted({**fields, 'sb': ''}.items()))}"


def _is_plain(url: str) -> bool:
    """Return whether a URL contains nothing that browsers drop or rewrite: control characters, blanks, backslashes, surrogates."""
    if not 0 < len(url) <= _MAX_LENGTH or "\\" in url:
        return False
    return not any(
        character <= " "
        or "\x7f" <= character <= "\xa0"
        or character.isspace()
        or "\ud800" <= character <= "\udfff"
        for character in url
    )


def _web_address(url: str) -> _Address | None:
    """Parse an http(s) URL; None if its host is ambiguous, or is an IP address other than a loopback one."""
    named = _SCHEME.fullmatch(url)
    parts = _WEB.fullmatch(named[2]) if named else None
    if named is None or parts is None or named[1].lower() not in _USUAL_PORT or not parts[1].isascii():
        return None
    scheme, authority, rest = named[1].lower(), parts[1].lower(), parts[2].partition("#")[0]
    match = _HOST_AND_PORT.fullmatch(authority)
    if match is None or not _is_host(match[1]) or _DOT_SEGMENT.search(rest.partition("?")[0]):
        return None
    port = parse_whole_number(match[2], least=1, most=65535) if match[2] else _USUAL_PORT[scheme]
    return None if port is None else _Address(scheme, match[1], port, authority, rest)


def _is_host(host: str) -> bool:
    """Return whether a host is a name, or a loopback IP address. Names whose last label is a number are IP addresses."""
    is_number = _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]) is not None
    if host.startswith("[") or is_number:
        return _is_loopback(host)
    return _HOST.fullmatch(host) is not None and ".." not in host


def _is_loopback(host: str) -> bool:
    if host in ("localhost", "[::1]"):
        return True
    try:
        return ipaddress.IPv4Address(host) in _LOOPBACK
    except ValueError:
        return False


# --- Patterns ----------------------------------------------------------------------------------------------------


def _compile(pattern: str) -> list[_Pattern]:
    return [_split(text) for text in expand(pattern)] if pattern else []


def _split(text: str) -> _Pattern:
    """Split a pattern at `://` and the first slash after it.

    `**` at the end of the host continues into the rest (`https://**`). After a whole host (`https://a.com**`) it matches only
    the rest, and a port: the author does not mean `a.com.evil.com`.
    """
    names_scheme = _SPELLED_SCHEME.match(text) is not None
    scheme, colon, behind = text.partition("://")
    if not colon or not scheme:
        return _Pattern(Glob(text), None, names_scheme)
    authority, slash, path = behind.partition("/")
    rest = slash + path
    if whole := _WHOLE_HOST.fullmatch(authority):
        host, port, stars = whole.groups()
        rest = stars + rest if len(stars) > 1 else rest
        authority = host + (port or ":*")
    elif authority.endswith("**"):
        rest = "**" + rest
    parts = _Parts(Glob(scheme.lower()), Glob(authority.lower()), Glob(rest))
    return _Pattern(Glob(text), parts, names_scheme)


def _matches(address: _Address, text: str, pattern: _Pattern) -> bool:
    """Match a web URL part by part if the pattern has parts, with its default port spelled out or not."""
    parts = pattern.parts
    if parts is None:
        return pattern.whole.matches(text)
    spellings = (address.authority, f"{address.host}:{address.port}")
    is_there = any(parts.authority.matches(spelling) for spelling in spellings)
    return is_there and parts.scheme.matches(address.scheme) and parts.rest.matches(address.rest)
