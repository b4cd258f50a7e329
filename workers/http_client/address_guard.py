"""Decides which addresses may be requested when a URL comes from an untrusted source (pure: no name resolution here).

Public addresses are allowed; private, loopback, link-local and all other special ones only if the operator's list names them.
A host name is checked by the addresses it resolves to when the client connects (workers/http_client/client.py), so that DNS
rebinding between check and connection is impossible. The platform's own gateway is allowed below the prefixes of its areas,
because jobs call functions there.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from yarl import URL

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

AREAS = ("rest", "graphql", "auth", "storage", "realtime", "functions")
_HOST = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
PRIVATE = "the host is at a private address"


@dataclass(frozen=True, slots=True)
class AddressGuard:
    """Allowed destinations in addition to public addresses."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[tuple[str, int | None]] = frozenset()
    """Host names and ports; None is any port."""
    gateway: URL | None = None
    """Address of the platform's own gateway."""
    aliases: frozenset[URL] = frozenset()
    """Public origins of the gateway."""

    def gateway_url(self, url: URL) -> URL | None:
        """Return the gateway's own address for a URL in one of its areas; None for other URLs."""
        if self.gateway is None or _origin(url) not in self.aliases | {_origin(self.gateway)}:
            return None
        first, _, rest = url.raw_path.lstrip("/").partition("/")
        if first not in AREAS or rest.partition("/")[0] != "v1" or ".." in url.path.split("/"):
            return None
        return (
            url.with_scheme(self.gateway.scheme)
            .with_host(self.gateway.host or "")
            .with_port(self.gateway.port)
        )

    def rejection(self, url: URL) -> str:
        """Return why a URL may not be requested, "" if it may. Host names are checked again when the client connects."""
        host = _plain(url.host or "")
        if url.scheme not in ("http", "https") or not host:
            return "the address is no URL of http or https"
        if (address := read_address(host)) is not None:
            return "" if self.allows(host, url.port or 0, address) else PRIVATE
        is_local = host == "localhost" or host.endswith(".localhost") or host.replace(".", "").isdecimal()
        return PRIVATE if is_local and not (self.networks or self._names(host, url.port or 0)) else ""

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Return whether a host may be connected to at an address."""
        return (
            is_public_address(address)
            or self._names(_plain(host), port)
            or any(address in network for network in self.networks)
        )

    def is_listed(self, url: URL) -> bool:
        """Return whether the operator's list names the host of a URL, or has its numeric address in a network."""
        host = _plain(url.host or "")
        address = read_address(host)
        in_network = address is not None and any(address in network for network in self.networks)
        return in_network or self._names(host, url.port or 0)

    def _names(self, host: str, port: int) -> bool:
        return (host, None) in self.hosts or (host, port) in self.hosts


def make_guard(allow: Iterable[str], gateway: str = "", aliases: Iterable[str] = ()) -> AddressGuard:
    """Parse the operator's list: networks, and hosts with or without a port. Raises: ValueError naming the invalid entry."""
    networks: list[Network] = []
    hosts: set[tuple[str, int | None]] = set()
    for entry in allow:
        try:
            networks.append(ipaddress.ip_network(entry.strip(), strict=False))
            continue
        except ValueError:
            pass
        try:
            url = URL(f"http://{entry.strip()}")
            named = url.host if _HOST.fullmatch(entry.strip()) else None
        except ValueError:
            named = None
        if not named:
            raise ValueError(f"'{entry}' is neither a network, nor a host with or without a port")
        hosts.add((_plain(named), url.explicit_port))
    return AddressGuard(
        tuple(networks),
        frozenset(hosts),
        URL(gateway) if gateway else None,
        frozenset(_origin(URL(alias)) for alias in aliases),
    )


def read_address(host: str) -> Address | None:
    """Parse a numeric address without its zone; return None for anything else."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def is_public(address: str) -> bool:
    """Return whether a text is a numeric address of the public network."""
    parsed = read_address(address)
    return parsed is not None and is_public_address(parsed)


def is_public_address(address: Address) -> bool:
    """Return whether an address is public. An IPv6 address that embeds an IPv4 address must embed a public one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public_address(inner) and (address.ipv4_mapped is not None or address.is_global)
    return address.is_global and not address.is_multicast


def _plain(host: str) -> str:
    return host.lower().rstrip(".")


def _origin(url: URL) -> URL:
    """Return scheme, host and port only."""
    try:
        return URL.build(scheme=url.scheme, host=_plain(url.host or ""), port=url.port)
    except ValueError:
        return URL()
