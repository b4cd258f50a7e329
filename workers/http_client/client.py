"""The workers' HTTP client: requests to hooks, captchas, identity providers and webhooks, and requests from SQL.

Every response has a time limit and a size limit, and redirects are followed only on request. Requests whose URL comes from an
untrusted source (an administrator's form, an identity provider's metadata, SQL) can be limited to public addresses. Addresses
are checked when the client connects, so that DNS rebinding cannot bypass the check (workers/http_client/guarded_resolver.py); each
step of a redirect is checked, too.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
from yarl import URL

from broker.observability.spans import Tracing
from broker.observability.tracing import STATE
from workers.http_client.address_guard import PRIVATE, AddressGuard
from workers.http_client.guarded_resolver import GuardedResolver, PrivateAddressError

TIMEOUT_S = 10.0
MOST_BYTES = 1024 * 1024
PUBLIC_ONLY = AddressGuard()
_CHUNK = 64 * 1024


class FetchFailed(Exception):
    """No response arrived. The text gives the reason, without secrets.

    `is_timeout`: none arrived in time; `is_connection`: there was no connection or it broke.
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
class FetchedResponse:
    """A response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Decode the body as JSON. Raises: FetchFailed."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise FetchFailed("the answer is no JSON") from None

    def object(self) -> dict[str, Any]:
        """Decode the body as a JSON object. Raises: FetchFailed."""
        value = self.json()
        if not isinstance(value, dict):
            raise FetchFailed("the answer is no JSON object")
        return value


class HttpClient:
    """Two sessions: one for services named in the settings, one limited to the addresses that its guard allows."""

    def __init__(self, guard: AddressGuard = PUBLIC_ONLY) -> None:
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
    ) -> FetchedResponse:
        """Send a request and read the whole response, whatever its status, redirects included.

        `only_public` limits the request to addresses that the guard allows; `redirects` is how many are followed.
        Raises: FetchFailed.
        """
        request = _OutgoingRequest(
            method, _read_url(url), dict(headers or {}), form if body is None else body
        )
        if STATE.tracing is not None:
            return await self._traced(STATE.tracing, request, timeout_s, most_bytes, only_public, redirects)
        return await self._fetch(request, timeout_s, most_bytes, only_public, redirects)

    async def _traced(
        self,
        tracing: Tracing,
        request: "_OutgoingRequest",
        timeout_s: float,
        most_bytes: int,
        only_public: bool,
        redirects: int,
    ) -> FetchedResponse:
        """Send the request inside a span and add trace headers, unless the request has its own."""
        attributes = {"http.request.method": request.method, "server.address": request.url.host or ""}
        with tracing.client_span(f"fetch {request.method}", attributes) as span:
            headers = {
                **dict(tracing.headers()),
                **{name.lower(): text for name, text in request.headers.items()},
            }
            request = replace(request, headers=headers)
            response = await self._fetch(request, timeout_s, most_bytes, only_public, redirects)
            span.note("http.response.status_code", response.status)
            return response

    async def _fetch(
        self,
        request: "_OutgoingRequest",
        timeout_s: float,
        most_bytes: int,
        only_public: bool,
        redirects: int,
    ) -> FetchedResponse:
        try:
            async with asyncio.timeout(timeout_s):
                for left in range(redirects, -1, -1):
                    response = await self._send(request, most_bytes, only_public=only_public)
                    next_request = request.redirected(response) if left else None
                    if next_request is None:
                        return response
                    request = next_request
                return response
        except TimeoutError:
            raise FetchFailed(f"no answer within {timeout_s:g} s", is_timeout=True) from None
        except aiohttp.InvalidURL:
            raise FetchFailed("the address is no URL") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchFailed(_reason(error), is_connection=_is_of_connection(error)) from None

    @asynccontextmanager
    async def open_guarded(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Send a request to an address that the guard allows; yield the status and the body as it arrives. No redirects.

        `timeout_s` limits the wait for the head and each wait for a part of the body; its reader limits the size.
        Raises: FetchFailed, also from the block.
        """
        request_url = _read_url(url)
        if reason := self._guard.rejection(request_url):
            raise FetchFailed(reason)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_S, sock_read=timeout_s)
        try:
            async with self._session(only_public=True).request(
                method, request_url, headers=headers, data=body, allow_redirects=False, timeout=timeout
            ) as response:
                yield response.status, response.content.iter_any()
        except TimeoutError:
            raise FetchFailed(f"no answer within {timeout_s:g} s", is_timeout=True) from None
        except aiohttp.InvalidURL:
            raise FetchFailed("the address is no URL") from None
        except (aiohttp.ClientError, OSError) as error:
            raise FetchFailed(_reason(error), is_connection=_is_of_connection(error)) from None

    def session(self) -> aiohttp.ClientSession:
        """Return the session for services named in the settings; `close` closes it."""
        return self._session(only_public=False)

    async def close(self) -> None:
        """Close the connections."""
        for session in (self._open, self._guarded):
            if session is not None:
                await session.close()
        self._open = self._guarded = None

    async def _send(
        self, request: "_OutgoingRequest", most_bytes: int, *, only_public: bool
    ) -> FetchedResponse:
        url = request.url
        if only_public and (gateway := self._guard.gateway_url(url)):
            only_public, url = False, gateway
        elif only_public and (reason := self._guard.rejection(url)):
            raise FetchFailed(reason)
        async with self._session(only_public=only_public).request(
            request.method, url, headers=request.headers, data=request.body, allow_redirects=False
        ) as response:
            response_headers = {name.lower(): value for name, value in response.headers.items()}
            return FetchedResponse(response.status, response_headers, await _read(response, most_bytes))

    def _session(self, *, only_public: bool) -> aiohttp.ClientSession:
        if only_public:
            if self._guarded is None:
                self._guarded = _client(aiohttp.TCPConnector(resolver=GuardedResolver(self._guard)))
            return self._guarded
        if self._open is None:
            self._open = _client(aiohttp.TCPConnector())
        return self._open


@dataclass(frozen=True, slots=True)
class _OutgoingRequest:
    """One request, or one step of a chain of redirects."""

    method: str
    url: URL = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | Mapping[str, str] | None = field(repr=False)

    def redirected(self, response: FetchedResponse) -> "_OutgoingRequest | None":
        """Return the next request of a redirect; None if the response is not one. Source: RFC 9110, 15.4."""
        location = response.headers.get("location")
        if response.status not in (301, 302, 303, 307, 308) or not location:
            return None
        url = self.url.join(_read_url(location))
        headers, method, body = dict(self.headers), self.method, self.body
        if url.origin() != self.url.origin():
            headers = {
                name: text for name, text in headers.items() if name.lower() not in _PER_ORIGIN_HEADERS
            }
        if response.status == 303 or (response.status in (301, 302) and method == "POST"):
            method, body = "GET", None
            headers = {
                name: text for name, text in headers.items() if not name.lower().startswith("content-")
            }
        return _OutgoingRequest(method, url, headers, body)


_PER_ORIGIN_HEADERS = frozenset({"authorization", "cookie", "apikey", "host", "proxy-authorization"})
"""Headers that are not sent to another origin."""


def reject_private_address(url: str) -> None:
    """Reject a URL whose host is a numeric address that is not public. Host names are checked when the client connects.

    Raises: FetchFailed.
    """
    if reason := PUBLIC_ONLY.rejection(_read_url(url)):
        raise FetchFailed(reason)


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
    """Return whether the connection failed, so that a retry may succeed."""
    is_certificate = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError)
    return isinstance(error, aiohttp.ServerDisconnectedError | OSError) and not is_certificate


def _reason(error: Exception) -> str:
    """Return what failed, without texts of libraries, which may contain URLs with tokens."""
    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return "its certificate is not trusted"
        case PrivateAddressError():
            return PRIVATE
        case aiohttp.ClientConnectorError(os_error=PrivateAddressError()):
            return PRIVATE
        case aiohttp.ClientConnectorError() | OSError():
            return "no connection could be made"
        case aiohttp.ServerDisconnectedError():
            return "the connection broke"
    return "it did not answer as HTTP wants it"
