"""The gateway's sockets: bound by the supervisor and inherited by the edges (`broker/processes/inherited_sockets.py`)."""

import socket
import sys

from schemas.settings.tree import Settings


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
