"""Which loopback ports functions reach: those of their own API and database, of name servers, and those that the operator opens.

    own_ports(settings, ...) -> LoopbackPorts      once, when the worker starts
    listening_ports()        -> ports              at each start of a process
    ListenerWatch.settled()  -> ports              ten times a minute: those that listened at the last two looks
    closed_ports(...)        -> `--deny-net`       Deno's list: it has no ranges and no exceptions, so it names what listens now

The kernel's wall (`sandbox/loopback_wall.py`) knows the exceptions instead, so it closes what does not listen yet, too. Without it
a process is replaced when a program has begun to listen on a port that the process's list does not name.
"""

import errno
import ipaddress
import os
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from schemas.functions.variables import PROXIES
from schemas.settings.tree import Settings

LOOPBACK_NETWORKS = ("127.0.0.0/8", "[::1]")
LOOK_S = 6.0
_DNS = 53
_DEFAULT_PORTS = {"http": 80, "https": 443, "postgres": 5432, "postgresql": 5432}
_TABLES = ("tcp", "tcp6")
_LISTENING = "0A"
_SOCK_DIAG, _BY_FAMILY, _REQUEST_DUMP, _STATE_LISTEN = 4, 20, 0x301, 10
_ERROR, _DONE = 2, 3
"""Numbers of netlink(7) and sock_diag(7). A message is u32 length, u16 kind, ..., and after 16 bytes u8 family, state, timer, retransmits,
u16 port in network order."""
_NETLINK_S = 1.0
_PAGE = 64 * 1024


@dataclass(frozen=True, slots=True)
class LoopbackPorts:
    """Loopback ports that functions may reach. `is_open`: the operator opened loopback as a whole."""

    always: frozenset[int] = frozenset({_DNS})
    database: frozenset[int] = frozenset()
    """For functions with access to the database, in addition."""
    is_open: bool = False

    def reachable(self, *, opens_database: bool) -> frozenset[int] | None:
        """Return the ports that a function may reach; None for all."""
        if self.is_open:
            return None
        return self.always | self.database if opens_database else self.always


def own_ports(settings: Settings, database_url: str, environment: Mapping[str, str]) -> LoopbackPorts:
    """Return the loopback ports of a platform's functions. `environment` names proxies and a registry. Blocks: names are resolved."""
    api = settings.api
    always = {_DNS, api.port, *_local_ports(api.external_url)}
    for name in (*PROXIES, "NPM_CONFIG_REGISTRY"):
        always |= {*_local_ports(environment.get(name, ""))}
    allowed = [_split(text) for text in settings.edge_runtime.allow_inner]
    inner = {port for host, port in allowed if is_loopback(host)}
    return LoopbackPorts(
        frozenset(port for port in {*always, *inner} if port),
        frozenset((*_local_ports(database_url), *_pooler_port(settings, database_url))),
        is_open=None in inner,
    )


def closed_ports(listening: Iterable[int], reachable: frozenset[int] | None) -> list[str]:
    """Return loopback ports as entries of `--deny-net`: those on which programs listen, without the reachable ones (pure)."""
    if reachable is None:
        return []
    return [f"{network}:{port}" for port in sorted({*listening} - reachable) for network in LOOPBACK_NETWORKS]


def listening_ports() -> frozenset[int]:
    """Return the TCP ports of this machine on which programs listen; none on a system that does not say."""
    try:
        return frozenset(_listed_by_netlink())
    except OSError:
        return frozenset(port for name in _TABLES for port in _listed_in_table(Path("/proc/net", name)))


class ListenerWatch:
    """Looks at the listening ports every `LOOK_S`. A port counts when two looks have seen it: short-lived listeners replace no process."""

    def __init__(
        self,
        look: Callable[[], frozenset[int]] = listening_ports,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._clock = look, clock
        self._due = clock()
        self._last: frozenset[int] = frozenset()
        self._settled: frozenset[int] = frozenset()

    def settled(self) -> frozenset[int]:
        """Return the ports on which programs have listened at the last two looks."""
        if self._clock() >= self._due:
            self._due = self._clock() + LOOK_S
            ports = self._look()
            self._settled, self._last = ports & self._last, ports
        return self._settled


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's loopback, by its address or its name. Blocks: a name is resolved."""
    addresses = [host]
    if _address(host) is None:
        with suppress(OSError, UnicodeError):
            addresses = [str(answer[4][0]) for answer in socket.getaddrinfo(host or None, None)]
    parsed = [_address(address) for address in addresses]
    return any(address is not None and address.is_loopback for address in parsed)


def _listed_by_netlink() -> Iterator[int]:
    """Yield the ports of listening sockets: a dump of sock_diag(7), 0.1 ms where the tables of /proc take 14 to 37. Raises: OSError."""
    netlink = getattr(socket, "AF_NETLINK", None)
    if netlink is None:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(netlink, socket.SOCK_RAW, _SOCK_DIAG) as dump:
            dump.settimeout(_NETLINK_S)
            query = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, 0, 0, 1 << _STATE_LISTEN)
            header = struct.pack("=IHHII", 16 + len(query), _BY_FAMILY, _REQUEST_DUMP, 0, 0)
            dump.sendto(header + query, (0, 0))
            is_complete = False
            while not is_complete:
                data = dump.recv(_PAGE)
                while len(data) >= 16:
                    length, kind = struct.unpack_from("=IH", data)
                    if kind == _ERROR or length < 16:
                        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
                    if is_complete := kind == _DONE:
                        break
                    yield int.from_bytes(data[20:22])
                    data = data[(length + 3) & ~3 :]


def _listed_in_table(table: Path) -> Iterator[int]:
    """Yield the ports of listening sockets in a table of /proc/net."""
    with suppress(OSError):
        for line in table.read_text().splitlines()[1:]:
            words = line.split()
            if len(words) > 3 and words[3] == _LISTENING:
                yield int(words[1].rpartition(":")[2], 16)


def _pooler_port(settings: Settings, database_url: str) -> Iterator[int]:
    """Yield the port of the pooler before a database of this machine."""
    if settings.db.pooler.enabled and any(_local_ports(database_url)):
        yield settings.db.pooler.port


def _local_ports(url: str) -> Iterator[int]:
    """Yield the port of a URL if its host is loopback."""
    with suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
        if parts.hostname and port and is_loopback(parts.hostname):
            yield port


def _split(text: str) -> tuple[str, int | None]:
    """Split `host`, `host:port`, `[::1]` or `[::1]:port`."""
    with suppress(ValueError):
        parts = urlsplit(f"//{text}")
        return parts.hostname or "", parts.port
    return "", None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
