"""Token buckets at the door, by client address and by API key. Pure but for the buckets; the clock is an argument.

A bucket holds up to `burst` tokens and fills at `rate` a second; a request takes one.
"""

import hashlib
import ipaddress
from collections.abc import Sequence

_MOST_BUCKETS = 100_000
_LONGEST_NAME = 256

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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
        if len(name) > _LONGEST_NAME:  # clients choose names, and all of them are kept
            name = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
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
    """Give the address of the client: the last in X-Forwarded-For that is no trusted proxy, if the peer is one.

    `forwarded` is the whole list: a header that came several times joined by commas. A hop may carry a port. One that
    is no address names nobody: the last that is known before it counts, so that nobody can make up names.
    """
    if not trusted or forwarded is None:
        return peer
    address = _address(peer)
    if address is None or not _is_in(address, trusted):
        return peer
    for hop in reversed(forwarded.split(",")):
        if not hop.strip():
            continue
        found = _address(hop)
        if found is None:
            break
        address = found
        if not _is_in(address, trusted):
            break
    return str(address)


def is_in_networks(address: str, networks: Sequence[Network]) -> bool:
    """Tell whether an address is in any of some networks."""
    found = _address(address) if networks else None
    return found is not None and _is_in(found, networks)


def _address(text: str) -> _Address | None:
    """Read `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]` or `[::1]:80`; IPv4 inside of IPv6 is IPv4."""
    text = text.strip()
    if text.startswith("["):
        inner, closing, _ = text[1:].partition("]")
        text = inner if closing else ""
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address):
        return parsed.ipv4_mapped or parsed
    return parsed


def _is_in(address: _Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
