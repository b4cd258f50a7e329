"""Requests to other services: hooks, captchas, providers, webhooks, requests from SQL. The workers' one door to HTTP.

Every answer stands under a time limit and a size limit, no redirect is followed unless that is asked for, and a host
whose address is given by somebody else (an administrator's form, an identity provider's metadata, SQL) may be kept to
public addresses, which are looked at when they are connected to, so that no name can change behind the check
(workers/http_client/address_guard.py). Each step of a redirect is judged anew.
"""

import asyncio
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from broker.observability.tracing import STATE, Tracing
from workers.http_client.address_guard import PRIVATE, Guard, read_address

TIMEOUT_S = 10.0
MOST_BYTES = 1024 * 1024
PUBLIC_ONLY = Guard()
_CHUNK = 64 * 1024


class FetchFailed(Exception):
    """No answer was had. Its text says why, and names no secret.

    `is_timeout` if none came in time, `is_connection` if there was no connection or it broke.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_timeout: bool = False,
        is_too_long: bool = False,
        is_connection: bool = False,
    ) -> None:
        super().__init__(reason)
        self.is_connection = is_connection
        self.is_timeout = is_timeout
        self.is_too_long = is_too_long


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Tell whether the status is of success."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Read the body as JSON. Raises: FetchFailed."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise FetchFailed("the answer is no JSON") from None

    def object(self) -> dict[str, Any]:
        """Read the body as a JSON object. Raises: FetchFailed."""
        value = self.json()
        if not isinstance(value, dict):
            raise FetchFailed("the answer is no JSON object")
        return value


class Outgoing:
    """Two clients: one for services that the settings name, one that reaches only what its guard lets it."""

    def __init__(self, guard: Guard = PUBLIC_ONLY) -> None:
        self._guard = guard
        self._open: aiohttp.ClientSession | None = None
        self._guarded: aiohttp.ClientSession | None = None

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float = TIMEOUT_S,
        most_bytes: int = MOST_BYTES,
        only_public: bool = False,
        redirects: int = 0,
    ) -> Fetched:
        """Send a request and read the whole answer, whatever its status. A redirect is an answer too.

        `only_public` keeps to what the guard lets through; `redirects` is how many of them are followed.
        Raises: FetchFailed.
        """
        asked = _Asked(method, _read_url(url), dict(headers or {}), form if body is None else body)
        if STATE.tracing is not None:
            return await self._traced(STATE.tracing, asked, timeout_s, most_bytes, only_public, redirects)
        return await self._fetch(asked, timeout_s, most_bytes, only_public, redirects)

    async def _traced(
        self,
        tracing: Tracing,
        asked: "_Asked",
        timeout_s: float,
        most_bytes: int,
        only_public: bool,
        redirects: int,
    ) -> Fetched:
        """Send it inside of a span, and tell whom it goes to of that, unless the request has a trace of its own."""
        noted = {"http.request.method": asked.method, "server.address": asked.url.host or ""}
        with tracing.ask(f"fetch {asked.method}", noted) as span:
            told = {**dict(tracing.headers()), **{name.lower(): text for name, text in asked.headers.items()}}
            asked = replace(asked, headers=told)
            found = await self._fetch(asked, timeout_s, most_bytes, only_public, redirects)
            span.note("http.response.status_code", found.status)
            return found

    async def _fetch(
        self, asked: "_Asked", timeout_s: float, most_bytes: int, only_public: bool, redirects: int
    ) -> Fetched:
        try:
            async with asyncio.timeout(timeout_s):
                for left in range(redirects, -1, -1):
                    found = await self._ask(asked, most_bytes, only_public=only_public)
                    following = asked.redirected(found) if left else None
                    if following is None:
                        return found
                    asked = following
                return found
        except TimeoutError:
            raise FetchFailed(f"no answer within {timeout_s:g} s", is_timeout=True) from None
        except aiohttp.InvalidURL:
            raise FetchFailed("the address is no URL") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchFailed(_reason(error), is_connection=_is_of_connection(error)) from None

    def session(self) -> aiohttp.ClientSession:
        """Give the client for services that the settings name; it is closed with the others."""
        return self._session(only_public=False)

    async def close(self) -> None:
        """Close the connections."""
        for session in (self._open, self._guarded):
            if session is not None:
                await session.close()
        self._open = self._guarded = None

    async def _ask(self, asked: "_Asked", most_bytes: int, *, only_public: bool) -> Fetched:
        url = asked.url
        if only_public and (own := self._guard.own(url)):
            only_public, url = False, own
        elif only_public and (refusal := self._guard.refusal(url)):
            raise FetchFailed(refusal)
        async with self._session(only_public=only_public).request(
            asked.method, url, headers=asked.headers, data=asked.body, allow_redirects=False
        ) as response:
            told = {name.lower(): value for name, value in response.headers.items()}
            return Fetched(response.status, told, await _read(response, most_bytes))

    def _session(self, *, only_public: bool) -> aiohttp.ClientSession:
        if only_public:
            if self._guarded is None:
                self._guarded = _client(aiohttp.TCPConnector(resolver=_Guarded(self._guard)))
            return self._guarded
        if self._open is None:
            self._open = _client(aiohttp.TCPConnector())
        return self._open


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as it is sent in one step."""

    method: str
    url: URL = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | Mapping[str, str] | None = field(repr=False)

    def redirected(self, found: Fetched) -> "_Asked | None":
        """Give what a redirect asks for; None if the answer is none. Source: RFC 9110, 15.4."""
        place = found.headers.get("location")
        if found.status not in (301, 302, 303, 307, 308) or not place:
            return None
        url = self.url.join(_read_url(place))
        headers, method, body = dict(self.headers), self.method, self.body
        if url.origin() != self.url.origin():
            headers = {name: text for name, text in headers.items() if name.lower() not in _OWN_TO_A_HOST}
        if found.status == 303 or (found.status in (301, 302) and method == "POST"):
            method, body = "GET", None
            headers = {
                name: text for name, text in headers.items() if not name.lower().startswith("content-")
            }
        return _Asked(method, url, headers, body)


_OWN_TO_A_HOST = frozenset({"authorization", "cookie", "apikey", "host", "proxy-authorization"})
"""Headers that do not go along to another host."""


class _Guarded(AbstractResolver):
    """Finds addresses of names, and gives only those that the guard lets through."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        allowed = [each for each in found if self._allows(host, port, each["host"])]
        if not allowed:
            raise PrivateHost
        return allowed

    async def close(self) -> None:
        await self._resolver.close()

    def _allows(self, host: str, port: int, address: str) -> bool:
        found = read_address(address)
        return found is not None and self._guard.allows(host, port, found)


class PrivateHost(OSError):
    """A name has only addresses that the guard does not let through."""


def refuse_private(url: str) -> None:
    """Raise if the host of a URL is a number that is not public; names are looked at when they are connected to.

    Raises: FetchFailed.
    """
    if refusal := PUBLIC_ONLY.refusal(_read_url(url)):
        raise FetchFailed(refusal)


def _read_url(text: str) -> URL:
    try:
        return URL(text)
    except ValueError:
        raise FetchFailed("the address is no URL") from None


def _client(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"user-agent": "headwater"},
        auto_decompress=False,
        skip_auto_headers=("Accept-Encoding",),
    )


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_chunked(_CHUNK):
        size += len(part)
        if size > most:
            response.close()
            raise FetchFailed(f"the answer is longer than {most} bytes", is_too_long=True)
        parts.append(part)
    return b"".join(parts)


def _is_of_connection(error: Exception) -> bool:
    """Tell whether another try may do better."""
    is_certificate = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError)
    return isinstance(error, aiohttp.ServerDisconnectedError | OSError) and not is_certificate


def _reason(error: Exception) -> str:
    """Say what failed without the words of others, which may hold addresses with tokens."""
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return "its certificate is not trusted"
        case PrivateHost():
            return PRIVATE
        case aiohttp.ClientConnectorError(os_error=PrivateHost()):
            return PRIVATE
        case aiohttp.ClientConnectorError() | OSError():
            return "no connection could be made"
        case aiohttp.ServerDisconnectedError():
            return "the connection broke"
    return "it did not answer as HTTP wants it"
