"""Where functions have no business: the broker, the database unless they are given it, what clouds tell their machines.

Addresses of this machine are denied under all of its loopback names. A place that is known by name is denied under the
addresses that it has now, too: the runtime compares what a name stands for, not what else stands for an address.
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
"""Where clouds tell a machine its own credentials."""
_LOOPBACK = ("127.0.0.0/8", "[::1]")
_POSTGRES_PORT = 5432


@dataclass(frozen=True, slots=True)
class Inner:
    """Hosts, most with ports, that functions must not reach; `database` holds for those that are not given it."""

    always: tuple[str, ...]
    database: tuple[str, ...]


def inner_places(settings: Settings, database_url: str) -> Inner:
    """Give what this platform keeps from its functions. Names are asked of the resolver."""
    broker: list[str] = []
    with suppress(ValueError):
        for server in parse_servers(settings.broker.url.reveal() if settings.broker.url else ""):
            broker += _places(server.host, server.port)
    database: list[str] = []
    for url in (database_url, settings.db.url.reveal() if settings.db.url else ""):
        with suppress(ValueError):
            parts = urlsplit(url)
            if parts.hostname:
                database += _places(parts.hostname, parts.port or _POSTGRES_PORT)
    opened = settings.edge_runtime.allow_inner
    return Inner(
        tuple(dict.fromkeys([*broker, *kept_closed(METADATA, opened)])), tuple(dict.fromkeys(database))
    )


def kept_closed(denied: Iterable[str], opened: Iterable[str]) -> list[str]:
    """Give what stays denied when some of it is opened; of a network all but that (pure)."""
    left = list(denied)
    for wanted in opened:
        left = [kept for each in left for kept in _without(each, wanted)]
    return left


def _without(denied: str, wanted: str) -> Iterator[str]:
    if denied.strip("[]") == wanted.strip("[]"):
        return
    network, opened = _network(denied), _network(wanted)
    if network is None or opened is None or not opened.subnet_of(network):
        yield denied
    else:
        yield from map(str, network.address_exclude(opened))


def _network(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        return None


def _places(host: str, port: int) -> Iterator[str]:
    """Give a host under its name and its addresses, each with the port."""
    found = [host]
    with suppress(OSError, UnicodeError):
        found += sorted({str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)})
    for one in found:
        address = _address(one)
        if address is not None and address.is_loopback:
            yield from (f"{each}:{port}" for each in _LOOPBACK)
        else:
            yield f"[{one}]:{port}" if ":" in one else f"{one}:{port}"


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
