"""Templates that the project keeps on a web server: fetched when a letter is written, and kept for ten minutes.

No letter fails for want of its template: until one is there that can be read, the built-in one is used, and the log says
why. A letter waits `PATIENCE_S` at most; what comes later is there for the next one. Whatever fails is tried again after
a while only, so that a server that is down does not hold every letter up. Source: reference page "auth", section 18.3.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.settings.auth_delivery import Email
from workers.auth.delivery.gotext.nodes import TemplateRefused
from workers.auth.delivery.gotext.parse import parse
from workers.auth.delivery.templates import Html, Kind, sections_of
from workers.http_client.client import FetchFailed, Outgoing

TIMEOUT_S = 10.0
LASTS_S = 600.0
FAILURE_LASTS_S = 30.0
PATIENCE_S = 5.0


class TemplateNotFetched(Observation, frozen=True):
    """A template could not be had from its URL, or read; the built-in one was used. `what` is the kind of mail."""

    level: ClassVar[str] = "warning"
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Kept:
    html: Html | None
    until: float


class RemoteTemplates:
    """Templates by the kinds of letters that have one."""

    def __init__(
        self,
        urls: Mapping[Kind, str],
        outgoing: Outgoing,
        clock: Callable[[], float],
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._urls = urls
        self._outgoing = outgoing
        self._clock = clock
        self._patience_s = patience_s
        self._kept: dict[Kind, _Kept] = {}
        self._fetching: dict[Kind, asyncio.Task[None]] = {}

    async def get(self, kind: Kind) -> Html | None:
        """Give the template of a kind; None where the project has none, or it cannot be had."""
        if kind not in self._urls:
            return None
        kept = self._kept.get(kind)
        if kept is not None and self._clock() < kept.until:
            return kept.html
        fetching = self._fetching.get(kind)
        if fetching is None:
            fetching = self._fetching[kind] = asyncio.create_task(self._fetch(kind))
        done, _ = await asyncio.wait({fetching}, timeout=self._patience_s)
        if not done:
            observe(TemplateNotFetched(kind.value, f"it did not come within {self._patience_s:g} s"))
            return None
        return self._kept[kind].html if kind in self._kept else None

    async def close(self) -> None:
        """Give up what is being fetched."""
        for each in [*self._fetching.values()]:
            each.cancel()

    async def _fetch(self, kind: Kind) -> None:
        """Fetch a template and keep it, or that there is none."""
        html, lasts_s = None, FAILURE_LASTS_S
        try:
            html, lasts_s = await self._read(self._urls[kind]), LASTS_S
        except (FetchFailed, TemplateRefused) as error:
            observe(TemplateNotFetched(kind.value, str(error)))
        except UnicodeDecodeError:
            observe(TemplateNotFetched(kind.value, "it is not UTF-8 text"))
        finally:
            del self._fetching[kind]
        self._kept[kind] = _Kept(html, self._clock() + lasts_s)

    async def _read(self, url: str) -> Html:
        """Fetch and read a template. Raises: FetchFailed, UnicodeDecodeError, TemplateRefused."""
        fetched = await self._outgoing.fetch("GET", url, timeout_s=TIMEOUT_S)
        if fetched.status != 200:
            raise FetchFailed(f"the server answered {fetched.status}")
        return parse(fetched.body.decode("utf-8-sig"))


def urls_of(email: Email, site_url: str) -> dict[Kind, str]:
    """Give where the project keeps templates, by kind; a path is one on its site."""
    site = site_url.rstrip("/")
    return {
        kind: one.url if "://" in one.url else f"{site}/{one.url.lstrip('/')}"
        for kind, one in sections_of(email)
        if one.url
    }
