"""Figures of the API keys that administrators create: when each was last used at this edge."""

import time
from collections.abc import Callable
from functools import partial

from broker.observability.observe import gauge
from services.middleware.api_keys import GatewayKeys

_NAME = "headwater_api_key_last_used_seconds"
_SINCE = "headwater_api_key_watched_since_seconds"
_HELP = "When an API key of auth.hashed_keys was last used at this edge, in seconds since 1970; 0: not since the edge started."


class KeyFigures:
    """Shows the last uses of the keys that there are."""

    def __init__(self, keys: GatewayKeys) -> None:
        self._keys = keys
        self._remove: dict[str, Callable[[], None]] = {}
        since = time.time()
        gauge(
            _SINCE,
            "When this edge started to note the last uses of API keys, in seconds since 1970.",
            lambda: since,
        )

    def follow(self) -> None:
        """Show the keys that have come, and no longer those that have gone."""
        present = self._keys.last_used.keys()
        for name in self._remove.keys() - present:
            self._remove.pop(name)()
        for name in present - self._remove.keys():
            self._remove[name] = gauge(_NAME, _HELP, partial(self._last_used, name), key=name)

    def _last_used(self, name: str) -> float:
        return self._keys.last_used.get(name, 0.0)
