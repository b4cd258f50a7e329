"""The gateway's sockets: bound by the supervisor, or held by systemd, and inherited by the edges (`broker/processes/inherited_sockets.py`)."""

import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from broker.processes.inherited_sockets import KEPT_FDS, LISTEN_FDS, port_of, take_activated
from schemas.settings.tree import Settings
from services.supervisor.errors import StartRefused


@dataclass(frozen=True, slots=True)
class ActivatedSockets:
    """Sockets that systemd listens on and handed to this process; it goes on listening while the platform restarts."""

    sockets: tuple[socket.socket, ...] = ()

    @property
    def ports(self) -> frozenset[int]:
        """Their ports."""
        return frozenset(map(port_of, self.sockets))


def activated_sockets() -> ActivatedSockets:
    """Return the sockets of systemd, if it started this process with some. Raises: StartRefused for another kind than of TCP."""
    sockets = tuple(socket.socket(fileno=number) for number in take_activated(os.environ))
    for activated in sockets:
        activated.set_inheritable(False)
        if activated.family not in (socket.AF_INET, socket.AF_INET6) or activated.type != socket.SOCK_STREAM:
            raise StartRefused(
                "systemd handed over a socket that is not of TCP: the gateway needs ListenStream= with a port."
            )
    return ActivatedSockets(sockets)


def passed_to_edges(opened: Sequence[socket.socket], activated: ActivatedSockets) -> dict[str, Sequence[int]]:
    """Return the descriptors that edges inherit, by the variables that name them."""
    if activated.sockets:
        return {KEPT_FDS: [one.fileno() for one in activated.sockets]}
    return {LISTEN_FDS: [one.fileno() for one in opened]} if opened else {}


def open_gateway(settings: Settings, port: int) -> list[socket.socket]:
    """Bind the gateway's addresses without listening; empty without a gateway, or if an address cannot be bound.

    If an address cannot be bound, the edge tries to bind it and reports the reason.
    """
    if (
        not port or sys.platform != "linux"
    ):  # on other systems `shutdown` does not stop a shared socket from listening
        return []
    opened: list[socket.socket] = []
    try:
        addresses = socket.getaddrinfo(
            settings.gateway.host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, kind, protocol, _, address in dict.fromkeys(addresses):
            opened.append(_bound(family, kind, protocol, address))
    except OSError:
        for opened_socket in opened:
            opened_socket.close()
        return []
    return opened


def _bound(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    """Bind a socket with the options that asyncio sets. Raises: OSError."""
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound
