"""Which addresses requests may go to when somebody else chose them (pure: nothing is looked up here).

Public addresses always; private, loopback, link-local and all other special ones only if the operator's list names them.
A name is judged by the addresses it has when it is connected to (workers/http_client/client.py), so it cannot change behind the
check. The platform's own gateway counts as public, below the prefixes of its areas: jobs call functions there.
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
class Guard:
    """What may be reached beyond public addresses."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[tuple[str, int | None]] = frozenset()
    """Names and ports; a port of None is any."""
    gateway: URL | None = None
    """Where the platform's own gateway answers."""
    aliases: frozenset[URL] = frozenset()
    """Origins under which projects know it."""

    def own(self, url: URL) -> URL | None:
        """Give the address at which the platform's own gateway answers a URL; None if it is not one of its areas."""
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

    def refusal(self, url: URL) -> str:
        """Say why a URL may not be asked for, nothing if it may. Names are judged when they are connected to."""
        host = _plain(url.host or "")
        if url.scheme not in ("http", "https") or not host:
            return "the address is no URL of http or https"
        if (address := read_address(host)) is not None:
            return "" if self.allows(host, url.port or 0, address) else PRIVATE
        is_local = host == "localhost" or host.endswith(".localhost") or host.replace(".", "").isdecimal()
        return PRIVATE if is_local and not (self.networks or self._names(host, url.port or 0)) else ""

    def allows(self, host: str, port: int, address: Address) -> bool:
        """Tell whether a host may be connected to at an address."""
        return (
            is_public_address(address)
            or self._names(_plain(host), port)
            or any(address in network for network in self.networks)
        )

    def _names(self, host: str, port: int) -> bool:
        return (host, None) in self.hosts or (host, port) in self.hosts


def make_guard(allow: Iterable[str], gateway: str = "", aliases: Iterable[str] = ()) -> Guard:
    """Read the operator's list: networks, and hosts with or without a port. Raises: ValueError naming what cannot be read."""
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
    return Guard(
        tuple(networks),
        frozenset(hosts),
        URL(gateway) if gateway else None,
        frozenset(_origin(URL(alias)) for alias in aliases),
    )


def read_address(host: str) -> Address | None:
    """Read a numeric address, its zone left out; None if it is none."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def is_public(address: str) -> bool:
    """Tell whether a numeric address is one of the public network."""
    found = read_address(address)
    return found is not None and is_public_address(found)


def is_public_address(address: Address) -> bool:
    """Tell the same of an address that was read. What carries another address inside is judged by that one too."""
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
    """Give scheme, host and port alone."""
    try:
        return URL.build(scheme=url.scheme, host=_plain(url.host or ""), port=url.port)
    except ValueError:
        return URL()
