"""Our side towards one provider: how we are registered there, and the requests that we send.

Texts of failures tell what a provider said of itself (its error and description), and never what was sent to it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from schemas.keys.secret import Secret
from workers.auth.federation.providers.documents import LASTS_S, Documents, Published
from workers.auth.federation.providers.profile import text
from workers.auth.federation.social.protocol import ProviderFailed
from workers.http_client.client import Fetched, FetchFailed, Outgoing

_NO_SECRET = Secret("")
_MOST_TOLD = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Client:
    """What a provider object works with. `ids` are all that ID tokens may name; the first is the browser's."""

    name: str
    outgoing: Outgoing
    documents: Documents
    clock: Callable[[], float]
    ids: tuple[str, ...] = ()
    secret: Secret = field(default=_NO_SECRET, repr=False)
    url: str = ""
    """Where the service lives, without a slash at its end; empty: at its usual place."""
    redirect_uri: str = ""
    is_email_optional: bool = False
    skips_nonce: bool = False
    only_public: bool = False
    """The address was given by an administrator's form: private ones are refused."""

    @property
    def id(self) -> str:
        """The client id of the browser's way."""
        return self.ids[0] if self.ids else ""

    def host(self, usual: str) -> str:
        """Give the beginning of the addresses: the settings' own, else the usual one."""
        return self.url or usual

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Send a request and give the answer, whatever its status. Raises: ProviderFailed."""
        wanted = {"accept": "application/json", **(headers or {})}
        try:
            return await self.outgoing.fetch(
                method, url, headers=wanted, form=form, only_public=self.only_public
            )
        except FetchFailed as error:
            raise ProviderFailed(f"Error reaching external provider: {error}") from None

    async def profile(
        self, url: str, access_token: str, headers: Mapping[str, str] | None = None
    ) -> Published:
        """Get an object that tells of the user. Raises: ProviderFailed."""
        return read_object(await self._with_token(url, access_token, headers), of="user profile")

    async def profiles(self, url: str, access_token: str) -> list[object]:
        """Get a list that tells of the user. Raises: ProviderFailed."""
        answered = await self._with_token(url, access_token, None)
        found = _json(answered) if answered.is_ok else None
        if not isinstance(found, list):
            raise _failed("user profile", answered)
        return found

    async def published(self, url: str, *, lasts_s: float = LASTS_S) -> Published:
        """Get a document that the provider publishes for everybody, or that was got within the hour.

        Raises: ProviderFailed.
        """

        async def get() -> Published:
            return read_object(await self.fetch("GET", url), of="provider metadata")

        key = f"{'public' if self.only_public else 'any'} {url}"
        return await self.documents.get(key, self.clock(), get, lasts_s=lasts_s)

    async def _with_token(self, url: str, access_token: str, headers: Mapping[str, str] | None) -> Fetched:
        wanted = {"authorization": f"Bearer {access_token}", **(headers or {})}
        return await self.fetch("GET", url, headers=wanted)


def read_object(answered: Fetched, *, of: str) -> Published:
    """Read an answer that must be a JSON object, or a form. Raises: ProviderFailed, with the provider's own words."""
    found = _json(answered)
    if found is None and answered.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        found = dict(parse_qsl(answered.body.decode("utf-8", "replace")))
    if not answered.is_ok or not isinstance(found, dict):
        raise _failed(of, answered)
    return found


def told(document: object) -> tuple[str, str]:
    """Give the error and its description in an answer, cut to what may be shown; empty without them.

    Providers write them as RFC 6749 has it, or in an object `error` of their own.
    """
    error = text(document, "error") or text(document, "error", "type") or text(document, "error", "code")
    words = (
        text(document, "error_description") or text(document, "error", "message") or text(document, "message")
    )
    return _shown(error), _shown(words)


def _failed(what: str, answered: Fetched) -> ProviderFailed:
    error, words = told(_json(answered))
    reason = words or error or (f"status {answered.status}" if not answered.is_ok else "not understood")
    return ProviderFailed(f"Error getting {what} from external provider: {reason}", error=error)


def _json(answered: Fetched) -> object:
    try:
        return answered.json()
    except FetchFailed:
        return None


def _shown(words: str) -> str:
    return _CONTROL.sub(" ", words)[:_MOST_TOLD]
