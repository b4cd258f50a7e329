"""Email templates on a web server of the project: fetched when an email is rendered, and cached for ten minutes.

No email fails because its template cannot be fetched: the built-in one is used, and the reason is logged. An email waits
`WAIT_S` at most; a template that arrives later serves the next email. A failure is cached for `FAILURE_LASTS_S`, so that a
server that is down does not delay every email. Source: docs/reference/auth.md, section 18.3.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.settings.auth_delivery import Email
from workers.auth.delivery.gotext.nodes import TemplateError
from workers.auth.delivery.gotext.parse import parse
from workers.auth.delivery.templates import EmailKind, Html, sections_of
from workers.http_client.client import FetchFailed, HttpClient

TIMEOUT_S = 10.0
LASTS_S = 600.0
FAILURE_LASTS_S = 30.0
WAIT_S = 5.0


class TemplateNotFetched(Observation, frozen=True):
    """A template could not be fetched or parsed; the built-in one was used. `what` is the kind of email."""

    level: ClassVar[str] = "warning"
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class _CachedTemplate:
    html: Html | None
    until: float


class RemoteTemplates:
    """The templates that have a URL, by kind of email."""

    def __init__(
        self,
        urls: Mapping[EmailKind, str],
        outgoing: HttpClient,
        clock: Callable[[], float],
        *,
        wait_s: float = WAIT_S,
    ) -> None:
        self._urls = urls
        self._outgoing = outgoing
        self._clock = clock
        self._wait_s = wait_s
        self._cache: dict[EmailKind, _CachedTemplate] = {}
        self._fetching: dict[EmailKind, asyncio.Task[None]] = {}

    async def get(self, kind: EmailKind) -> Html | None:
        """Return the template of a kind; None without a URL, or if it cannot be fetched now."""
        if kind not in self._urls:
            return None
        cached = self._cache.get(kind)
        if cached is not None and self._clock() < cached.until:
            return cached.html
        fetching = self._fetching.get(kind)
        if fetching is None:
            fetching = self._fetching[kind] = asyncio.create_task(self._fetch(kind))
        done, _ = await asyncio.wait({fetching}, timeout=self._wait_s)
        if not done:
            observe(TemplateNotFetched(kind.value, f"it did not come within {self._wait_s:g} s"))
            return None
        return self._cache[kind].html if kind in self._cache else None

    async def close(self) -> None:
        """Return up what is being fetched."""
        for task in [*self._fetching.values()]:
            task.cancel()

    async def _fetch(self, kind: EmailKind) -> None:
        """Fetch a template and cache it, or its failure."""
        html, lasts_s = None, FAILURE_LASTS_S
        try:
            html, lasts_s = await self._read(self._urls[kind]), LASTS_S
        except (FetchFailed, TemplateError) as error:
            observe(TemplateNotFetched(kind.value, str(error)))
        except UnicodeDecodeError:
            observe(TemplateNotFetched(kind.value, "it is not UTF-8 text"))
        finally:
            del self._fetching[kind]
        self._cache[kind] = _CachedTemplate(html, self._clock() + lasts_s)

    async def _read(self, url: str) -> Html:
        """Fetch and read a template. Raises: FetchFailed, UnicodeDecodeError, TemplateError."""
        fetched = await self._outgoing.fetch("GET", url, timeout_s=TIMEOUT_S)
        if fetched.status != 200:
            raise FetchFailed(f"the server answered {fetched.status}")
        return parse(fetched.body.decode("utf-8-sig"))


def urls_of(email: Email, site_url: str) -> dict[EmailKind, str]:
    """Return the URLs of templates by kind; a path is relative to the site URL."""
    site = site_url.rstrip("/")
    return {
        kind: one.url if "://" in one.url else f"{site}/{one.url.lstrip('/')}"
        for kind, one in sections_of(email)
        if one.url
    }
