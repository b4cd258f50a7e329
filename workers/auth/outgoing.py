"""Requests to other services: hooks, captchas, providers, identity providers. The only door of the accounts to HTTP.

Every answer stands under a time limit and a size limit, no redirect is followed, and a host whose address is given by
somebody else (an administrator's form, an identity provider's metadata) may be kept to public addresses, which are
looked at when they are connected to, so that no name can change behind the check.
"""

import asyncio
import ipaddress
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

TIMEOUT_S = 10.0
MOST_BYTES = 1024 * 1024
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
    """Two clients: one for services that the settings name, one that reaches public addresses only."""

    def __init__(self) -> None:
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
    ) -> Fetched:
        """Send a request and read the whole answer, whatever its status. A redirect is an answer too.

        Raises: FetchFailed.
        """
        session = self._session(only_public=only_public)
        try:
            if only_public:
                refuse_private(url)
            async with (
                asyncio.timeout(timeout_s),
                session.request(
                    method, url, headers=headers, data=form if body is None else body, allow_redirects=False
                ) as response,
            ):
                told = {name.lower(): value for name, value in response.headers.items()}
                return Fetched(response.status, told, await _read(response, most_bytes))
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

    def _session(self, *, only_public: bool) -> aiohttp.ClientSession:
        if only_public:
            if self._guarded is None:
                self._guarded = _client(aiohttp.TCPConnector(resolver=_PublicOnly()))
            return self._guarded
        if self._open is None:
            self._open = _client(aiohttp.TCPConnector())
        return self._open


class _PublicOnly(AbstractResolver):
    """Finds addresses of names, and gives only public ones."""

    def __init__(self) -> None:
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        public = [each for each in found if is_public(each["host"])]
        if not public:
            raise OSError("the host is at a private address")
        return public

    async def close(self) -> None:
        await self._resolver.close()


def is_public(address: str) -> bool:
    """Tell whether a numeric address is one of the public network."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    found = mapped or found
    return found.is_global and not found.is_multicast


def refuse_private(url: str) -> None:
    """Raise if the host of a URL is a number that is not public; names are looked at when they are connected to.

    Raises: FetchFailed.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    is_number = ":" in host or host.replace(".", "").isdecimal()
    if not host or host == "localhost" or (is_number and not is_public(host)):
        raise FetchFailed("the host is at a private address")


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
        case aiohttp.ClientConnectorError() | OSError():
            return "no connection could be made"
        case aiohttp.ServerDisconnectedError():
            return "the connection broke"
    return "it did not answer as HTTP wants it"
