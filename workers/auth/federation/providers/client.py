"""Our registration at one provider, and the HTTP requests to it.

Error texts hold what a provider answer (its error and description), and never what was sent to it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from schemas.keys.secret import Secret
from workers.auth.federation.document_cache import LASTS_S, DocumentCache, Published
from workers.auth.federation.providers.profile import text
from workers.auth.federation.social.protocol import ProviderError
from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient

_NO_SECRET = Secret("")
_MAX_ERROR_LENGTH = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class ProviderClient:
    """Our client at a provider. `ids` are all audiences that ID tokens may have; the first one is used in the browser."""

    name: str
    outgoing: HttpClient
    documents: DocumentCache
    clock: Callable[[], float]
    ids: tuple[str, ...] = ()
    secret: Secret = field(default=_NO_SECRET, repr=False)
    url: str = ""
    """The base URL of the service, without a trailing slash; empty for its public one."""
    redirect_uri: str = ""
    is_email_optional: bool = False
    skips_nonce: bool = False
    only_public: bool = False
    """The URLs come from an administrator at runtime: private hosts are rejected (no request forgery into the internal network)."""

    @property
    def id(self) -> str:
        """The client id of sign-ins by the browser."""
        return self.ids[0] if self.ids else ""

    def host(self, usual: str) -> str:
        """Return the base URL of the settings, else the default."""
        return self.url or usual

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> FetchedResponse:
        """Send a request and return the answer, whatever its status. Raises: ProviderError."""
        all_headers = {"accept": "application/json", **(headers or {})}
        try:
            return await self.outgoing.fetch(
                method, url, headers=all_headers, form=form, only_public=self.only_public
            )
        except FetchFailed as error:
            raise ProviderError(f"Error reaching external provider: {error}") from None

    async def profile(
        self, url: str, access_token: str, headers: Mapping[str, str] | None = None
    ) -> Published:
        """Fetch an object about the user. Raises: ProviderError."""
        return read_object(await self._with_token(url, access_token, headers), of="user profile")

    async def profiles(self, url: str, access_token: str) -> list[object]:
        """Fetch a list about the user. Raises: ProviderError."""
        answer = await self._with_token(url, access_token, None)
        document = _json(answer) if answer.is_ok else None
        if not isinstance(document, list):
            raise _failed("user profile", answer)
        return document

    async def published(self, url: str, *, lasts_s: float = LASTS_S) -> Published:
        """Return a public document of the provider, from the cache if it is at most `lasts_s` old.

        Raises: ProviderError.
        """

        async def get() -> Published:
            return read_object(await self.fetch("GET", url), of="provider metadata")

        key = f"{'public' if self.only_public else 'any'} {url}"
        return await self.documents.get(key, self.clock(), get, lasts_s=lasts_s)

    async def _with_token(
        self, url: str, access_token: str, headers: Mapping[str, str] | None
    ) -> FetchedResponse:
        all_headers = {"authorization": f"Bearer {access_token}", **(headers or {})}
        return await self.fetch("GET", url, headers=all_headers)


def read_object(answer: FetchedResponse, *, of: str) -> Published:
    """Parse an answer that must be a JSON object, or a form. Raises: ProviderError, with the provider's error text."""
    document = _json(answer)
    if document is None and answer.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        document = dict(parse_qsl(answer.body.decode("utf-8", "replace")))
    if not answer.is_ok or not isinstance(document, dict):
        raise _failed(of, answer)
    return document


def error_and_description(document: object) -> tuple[str, str]:
    """Return the error and its description in an answer, shortened; empty without them.

    Providers use the members of RFC 6749, or an object `error`.
    """
    error = text(document, "error") or text(document, "error", "type") or text(document, "error", "code")
    words = (
        text(document, "error_description") or text(document, "error", "message") or text(document, "message")
    )
    return _shortened(error), _shortened(words)


def _failed(what: str, answer: FetchedResponse) -> ProviderError:
    error, words = error_and_description(_json(answer))
    reason = words or error or (f"status {answer.status}" if not answer.is_ok else "not understood")
    return ProviderError(f"Error getting {what} from external provider: {reason}", error=error)


def _json(answer: FetchedResponse) -> object:
    try:
        return answer.json()
    except FetchFailed:
        return None


def _shortened(words: str) -> str:
    return _CONTROL.sub(" ", words)[:_MAX_ERROR_LENGTH]
