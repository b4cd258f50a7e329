"""Client addresses behind trusted proxies, and networks."""

import ipaddress
from collections.abc import Sequence

from broker.token_buckets import (
    Buckets as Buckets,  # offered here, beside the addresses that requests are counted by
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def read_networks(texts: Sequence[str]) -> list[Network]:
    """Read the networks of trusted proxies. Raises: ValueError."""
    return [ipaddress.ip_network(text, strict=False) for text in texts]


def client_address(peer: str, forwarded: str | None, trusted: Sequence[Network]) -> str:
    """Return the client's address: if the peer is a trusted proxy, the last address in X-Forwarded-For that is not one.

    `forwarded` is the whole list: a header that came several times joined by commas. A hop may carry a port. One that
    is not an address is ignored together with all before it: the last valid one counts, so that clients cannot invent addresses.
    """
    if not trusted or forwarded is None:
        return peer
    address = _address(peer)
    if address is None or not _is_in(address, trusted):
        return peer
    for hop in reversed(forwarded.split(",")):
        if not hop.strip():
            continue
        parsed = _address(hop)
        if parsed is None:
            break
        address = parsed
        if not _is_in(address, trusted):
            break
    return str(address)


def is_in_networks(address: str, networks: Sequence[Network]) -> bool:
    """Return whether an address is in any of some networks."""
    parsed = _address(address) if networks else None
    return parsed is not None and _is_in(parsed, networks)


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
