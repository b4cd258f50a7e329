"""How many connections there are, in all and by address, so that one client cannot take them all.

Sockets are counted when the kernel accepts them, before a byte of HTTP or TLS is read; the address is the peer's. A proxy
in front brings the connections of all its clients, so those of `gateway.trusted_proxies` count in all and not by address.
A connection beyond a limit is cut off without an answer: an answer would cost what the limit is there to save.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.client_networks import client_network
from services.middleware.limits import Network, is_in_networks

_LOG_EVERY_S = 60.0


class ConnectionsRefused(Observation, frozen=True):
    """An address, or all clients together, opened more connections than the limit: further ones were cut off."""

    level: ClassVar[str] = "warning"
    address: str
    """The last that was cut off."""
    limit: str
    """The setting that says how many there may be."""
    count: int
    """Connections cut off since the last time that this was logged."""


class ConnectionLimits:
    """The open connections of one edge process. A limit of 0 is none."""

    def __init__(self, most: int, most_of_address: int, trusted: Sequence[Network] = ()) -> None:
        self._most, self._most_of_address, self._trusted = most, most_of_address, trusted
        self._by_address: Counter[str] = Counter()
        self._refused = 0
        self._logged_at = float("-inf")
        self.count = 0

    def enter(self, address: str) -> str | None:
        """Count a connection from an address; return what it leaves with, or None if it is one too many."""
        if 0 < self._most <= self.count:
            self._refuse(address, "gateway.max_connections")
            return None
        name = "" if is_in_networks(address, self._trusted) else client_network(address)
        if name and 0 < self._most_of_address <= self._by_address[name]:
            self._refuse(address, "gateway.max_connections_per_address")
            return None
        self.count += 1
        self._by_address[name] += 1
        return name

    def leave(self, name: str) -> None:
        """Remove a connection from the counts."""
        self.count -= 1
        self._by_address[name] -= 1
        if not self._by_address[name]:
            del self._by_address[name]

    def _refuse(self, address: str, limit: str) -> None:
        self._refused += 1
        if (now := time.monotonic()) - self._logged_at >= _LOG_EVERY_S:
            observe(ConnectionsRefused(address, limit, self._refused))
            self._logged_at, self._refused = now, 0
