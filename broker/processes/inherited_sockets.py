"""Take over listening sockets from the process that holds them open, so that connections wait in the kernel while an edge restarts.

From the supervisor: `HEADWATER_LISTEN_FDS` names their descriptors, separated by commas. The supervisor binds them; the first edge calls
`listen`. When an edge is killed the sockets stay open in the supervisor, and the next edge accepts what the kernel has queued. An edge
that stops in order ends the listening with `shutdown`: nothing would accept the connections if the platform stops.

From systemd (socket activation): `LISTEN_FDS` descriptors from 3 on, meant for the process `LISTEN_PID`. systemd listens on them for as
long as the socket unit runs, also while the service restarts, so nobody may shut them down: `is_kept`. A supervisor that was started so
names them to the edges in `HEADWATER_KEPT_FDS`. Source: sd_listen_fds(3).
"""

import os
import socket
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Final

from schemas.numbers import parse_whole_number

LISTEN_FDS: Final = "HEADWATER_LISTEN_FDS"
KEPT_FDS: Final = "HEADWATER_KEPT_FDS"
_SYSTEMD: Final = ("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
_FIRST: Final = 3
_MOST: Final = 100
_MOST_NUMBER: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class InheritedSockets:
    """Sockets of another process. `is_kept`: it goes on to listen when this process stops."""

    sockets: tuple[socket.socket, ...] = ()
    is_kept: bool = False

    def on_port(self, port: int) -> "InheritedSockets":
        """Return those of one port."""
        return InheritedSockets(tuple(one for one in self.sockets if port_of(one) == port), self.is_kept)

    def without_port(self, port: int) -> "InheritedSockets":
        """Return those of other ports."""
        return InheritedSockets(tuple(one for one in self.sockets if port_of(one) != port), self.is_kept)


def port_of(listener: socket.socket) -> int:
    """Return the port of a socket, 0 for one that has none."""
    address = listener.getsockname()
    return address[1] if isinstance(address, tuple) else 0


def take_sockets(environment: MutableMapping[str, str]) -> InheritedSockets:
    """Remove the variables from the environment and return their sockets: those that stay open for others first, if there are any."""
    own, kept = (_descriptors(environment.pop(name, "")) for name in (LISTEN_FDS, KEPT_FDS))
    kept = take_activated(environment) or kept
    return InheritedSockets(tuple(_socket(number) for number in kept or own), bool(kept))


def take_activated(environment: MutableMapping[str, str]) -> list[int]:
    """Remove systemd's variables and return its descriptors; an empty list if they are meant for another process."""
    count, of_process, _ = (environment.pop(name, "") for name in _SYSTEMD)
    if of_process != str(os.getpid()):
        return []
    return [_FIRST + number for number in range(parse_whole_number(count, most=_MOST) or 0)]


def _socket(number: int) -> socket.socket:
    listener = socket.socket(fileno=number)
    listener.setblocking(False)
    listener.set_inheritable(False)
    return listener


def _descriptors(text: str) -> list[int]:
    numbers = (parse_whole_number(part, most=_MOST_NUMBER) for part in text.split(","))
    return [number for number in numbers if number is not None]
