"""A cache of documents that providers publish (discovery, keys), so that a sign-in need not fetch them. They last an hour."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from schemas.bounded_cache import BoundedCache

Published = dict[str, object]

LASTS_S = 3600.0
_MOST = 256


@dataclass(frozen=True, slots=True)
class _CachedDocument:
    document: Published
    fetched_at: float


@dataclass(slots=True)
class DocumentCache:
    """Documents by URL. Beyond 256 the least recently used is evicted."""

    _cached: BoundedCache[str, _CachedDocument] = field(default_factory=lambda: BoundedCache(_MOST))

    async def get(
        self, url: str, now: float, fetch: Callable[[], Awaitable[Published]], *, lasts_s: float = LASTS_S
    ) -> Published:
        """Return a document that is at most `lasts_s` old; else call `fetch` for it. Raises: what `fetch` raises."""
        cached = self._cached.get(url)
        # A time in the future is that of a clock that was set back since: how old the document is is unknown.
        if cached is not None and 0 <= now - cached.fetched_at < lasts_s:
            self._cached.refresh(url)
            return cached.document
        document = await fetch()
        self._cached.put(url, _CachedDocument(document, now))
        return document
