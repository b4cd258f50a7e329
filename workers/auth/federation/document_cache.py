"""A cache of documents that providers publish (discovery, keys), so that a sign-in need not fetch them. They last an hour."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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

    _cached: OrderedDict[str, _CachedDocument] = field(default_factory=OrderedDict)

    async def get(
        self, url: str, now: float, fetch: Callable[[], Awaitable[Published]], *, lasts_s: float = LASTS_S
    ) -> Published:
        """Return a document that is at most `lasts_s` old; else call `fetch` for it. Raises: what `fetch` raises."""
        cached = self._cached.get(url)
        # A time in the future is that of a clock that was set back since: how old the document is is unknown.
        if cached is not None and 0 <= now - cached.fetched_at < lasts_s:
            self._cached.move_to_end(url)
            return cached.document
        document = await fetch()
        self._cached[url] = _CachedDocument(document, now)
        self._cached.move_to_end(url)
        while len(self._cached) > _MOST:
            self._cached.popitem(last=False)
        return document
