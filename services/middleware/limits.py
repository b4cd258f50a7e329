"""Token buckets at the door, by client address and by API key. Pure but for the buckets; the clock is an argument.

A bucket holds up to `burst` tokens and fills at `rate` a second; a request takes one.
"""

import ipaddress
from collections.abc import Sequence

_MOST_BUCKETS = 100_000

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Buckets:
    """One kind of limit. A rate of 0 allows everything."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(burst, 1))
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str, now: float) -> float:
        """Take a token; give 0, or the seconds until there is one."""
        if self._rate <= 0:
            return 0.0
        level, since = self._levels.pop(name, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        if len(self._levels) >= _MOST_BUCKETS:
            del self._levels[next(iter(self._levels))]
        self._levels[name] = (level if wait else level - 1, now)
        return wait


def read_networks(texts: Sequence[str]) -> list[Network]:
    """Read the networks of trusted proxies. Raises: ValueError."""
    return [ipaddress.ip_network(text, strict=False) for text in texts]


def client_address(peer: str, forwarded: str | None, trusted: Sequence[Network]) -> str:
    """Give the address of the client: the last in X-Forwarded-For that is no trusted proxy, if the peer is one."""
    if not trusted or forwarded is None or not _is_in(peer, trusted):
        return peer
    address = peer
    for hop in reversed(forwarded.split(",")):
        address = hop.strip() or address
        if not _is_in(address, trusted):
            return address
    return address


def _is_in(address: str, networks: Sequence[Network]) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)
