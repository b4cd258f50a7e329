"""Documents that providers publish (discovery, keys), kept for an hour so that a sign-in need not wait for them."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Published = dict[str, object]

LASTS_S = 3600.0
_MOST = 256


@dataclass(frozen=True, slots=True)
class _Kept:
    document: Published
    fetched_at: float


@dataclass(slots=True)
class Documents:
    """Documents by their addresses. Of many, those that were asked for last stay."""

    _kept: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)

    async def get(
        self, url: str, now: float, fetch: Callable[[], Awaitable[Published]], *, lasts_s: float = LASTS_S
    ) -> Published:
        """Give a document that is at most `lasts_s` old; `fetch` gets it where none is. Raises: what `fetch` raises."""
        found = self._kept.get(url)
        if found is not None and now - found.fetched_at < lasts_s:
            self._kept.move_to_end(url)
            return found.document
        document = await fetch()
        self._kept[url] = _Kept(document, now)
        self._kept.move_to_end(url)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return document
