"""Network addresses that functions must not reach: the broker, the database unless allowed, cloud metadata services.

Loopback addresses are denied under all loopback names. A host given by name is denied under its current addresses as well:
the runtime resolves the name that a function uses, and compares addresses; it does not know the other names of an address.
"""

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from broker.nats.addresses import parse_servers
from schemas.settings.tree import Settings

METADATA = (
    "169.254.0.0/16",  # link-local: Amazon, Google, Azure, Oracle and most others
    "[fd00:ec2::254]",
    "[fd00:ec2::23]",
    "[fe80::a9fe:a9fe]",
    "metadata.google.internal",
    "100.100.100.200",  # Alibaba
    "168.63.129.16",  # Azure
    "192.0.0.192",  # Oracle
)
"""Metadata services, from which a cloud machine reads its own credentials."""
_LOOPBACK = ("127.0.0.0/8", "[::1]")
_POSTGRES_PORT = 5432
_MONITORING_PORT = 8222
"""Where the nats-server of the compose file and the Helm chart answers health checks, and names connections without a password."""


@dataclass(frozen=True, slots=True)
class DeniedHosts:
    """Hosts, most with ports, that functions must not reach; `database` only for functions without database access."""

    always: tuple[str, ...]
    database: tuple[str, ...]


def find_denied_hosts(settings: Settings, database_url: str) -> DeniedHosts:
    """Return the hosts that this platform denies to its functions. Blocks: names are resolved."""
    broker: list[str] = []
    with suppress(ValueError):
        for server in parse_servers(settings.broker.url.reveal() if settings.broker.url else ""):
            broker += [*_addresses(server.host, server.port), *_addresses(server.host, _MONITORING_PORT)]
    database: list[str] = []
    for url in (database_url, settings.db.url.reveal() if settings.db.url else ""):
        with suppress(ValueError):
            parts = urlsplit(url)
            if parts.hostname:
                database += _addresses(parts.hostname, parts.port or _POSTGRES_PORT)
    allowed = settings.edge_runtime.allow_inner
    return DeniedHosts(
        tuple(dict.fromkeys([*broker, *remove_allowed(METADATA, allowed)])), tuple(dict.fromkeys(database))
    )


def remove_allowed(denied: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """Return the denied hosts without the allowed ones; an allowed part of a network is cut out of it (pure)."""
    left = list(denied)
    for host in allowed:
        left = [rest for entry in left for rest in _without(entry, host)]
    return left


def _without(denied: str, allowed: str) -> Iterator[str]:
    if denied.strip("[]") == allowed.strip("[]"):
        return
    network, part = _network(denied), _network(allowed)
    if network is None or part is None or not part.subnet_of(network):
        yield denied
    else:
        yield from map(str, network.address_exclude(part))


def _network(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        return None


def _addresses(host: str, port: int) -> Iterator[str]:
    """Yield a host under its name and its addresses, each with the port."""
    names = [host]
    with suppress(OSError, UnicodeError):
        names += sorted(
            {str(answer[4][0]) for answer in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        )
    for name in names:
        address = _address(name)
        if address is not None and address.is_loopback:
            yield from (f"{loopback}:{port}" for loopback in _LOOPBACK)
        else:
            yield f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
