"""Fetch the keys that an issuer publishes, from a fixed URL or from the one of its discovery document.

Every answer has a time limit and a size limit, and redirects are not followed, so that keys come only from the URL of the
settings or of the issuer. Source: OpenID Connect Discovery 1.0, section 4; RFC 7517, section 5.
"""

import asyncio
import json

import aiohttp

from schemas.keys.token_keys import KeySet, read_published
from services.keys.issuers import ThirdPartyIssuer, is_safe

TIMEOUT_S = 5.0
MOST_BYTES = 256 * 1024
_CHUNK = 64 * 1024


class KeysNotRead(Exception):
    """The keys could not be fetched; the text is the reason."""


class KeyClient:
    """HTTP client for issuers' keys."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._client: aiohttp.ClientSession | None = None

    async def keys(self, issuer: ThirdPartyIssuer) -> KeySet:
        """Fetch the keys of an issuer. Raises: KeysNotRead."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._keys(issuer)
        except TimeoutError:
            raise KeysNotRead(f"no answer within {self._timeout_s:g} s") from None
        except aiohttp.ClientSSLError:
            raise KeysNotRead("its certificate is not trusted") from None
        except (aiohttp.ClientError, OSError):
            raise KeysNotRead("no connection could be made, or it broke") from None
        except ValueError as error:  # the texts of `read_published` contain no key
            raise KeysNotRead(str(error)) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _keys(self, issuer: ThirdPartyIssuer) -> KeySet:
        url = issuer.keys_url or await self._discovered(issuer)
        return read_published(await self._text(url))

    async def _discovered(self, issuer: ThirdPartyIssuer) -> str:
        """Return the URL of the keys from the issuer's discovery document."""
        try:
            document = json.loads(await self._text(issuer.discovery_url))
        except (ValueError, RecursionError):
            raise KeysNotRead("its discovery document is not valid JSON") from None
        if not isinstance(document, dict) or document.get("issuer") != issuer.url:
            raise KeysNotRead("its discovery document is that of another issuer")
        url = document.get("jwks_uri")
        if (
            not isinstance(url, str)
            or not is_safe(url)
            or (url.startswith("http:") and issuer.url[:5] == "https")
        ):
            raise KeysNotRead("its discovery document names no address of keys that begins with https://")
        return url

    async def _text(self, url: str) -> str:
        async with self._session().get(url, allow_redirects=False) as response:
            if response.status != 200:
                raise KeysNotRead(f"it answered with status {response.status}")
            data = b""
            async for part in response.content.iter_chunked(_CHUNK):
                data += part
                if len(data) > MOST_BYTES:
                    response.close()
                    raise KeysNotRead(f"its answer is longer than {MOST_BYTES} bytes")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise KeysNotRead("its answer is no UTF-8") from None

    def _session(self) -> aiohttp.ClientSession:
        if self._client is None:
            self._client = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"user-agent": "headwater", "accept": "application/json"},
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._client
