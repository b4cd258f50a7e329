"""The network that a client's address is counted by, wherever something is limited by address.

A client with IPv6 usually has 64 bits to itself: limits of single addresses would not bound it.
"""

import ipaddress


def client_network(address: str) -> str:
    """Return an IPv4 address as it is, and the first address of an IPv6 one's /64; a text that is no address as it is. Pure."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, 64), strict=False).network_address)
