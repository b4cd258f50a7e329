"""Listening sockets that a process inherits: the supervisor keeps them open, so connections wait while an edge is restarted.

`HEADWATER_LISTEN_FDS` names their descriptors, separated by commas. The supervisor binds them and does not listen; the first
edge does. When an edge is killed the sockets stay in the supervisor, the kernel goes on taking connections into their queue,
and the next edge accepts them.
"""

import socket
from collections.abc import MutableMapping
from typing import Final

LISTEN_FDS: Final = "HEADWATER_LISTEN_FDS"


def take_sockets(environment: MutableMapping[str, str]) -> list[socket.socket]:
    """Take the inherited sockets out of the environment; none where nothing was inherited."""
    numbers = environment.pop(LISTEN_FDS, "")
    sockets = [socket.socket(fileno=int(number)) for number in numbers.split(",") if number.isdigit()]
    for each in sockets:
        each.setblocking(False)
        each.set_inheritable(False)
    return sockets
