"""Take over listening sockets from the supervisor, which holds them open so that connections wait while an edge
restarts.

`HEADWATER_LISTEN_FDS` names their descriptors, separated by commas. The supervisor binds them; the first edge calls
`listen`. When an edge is killed the sockets stay open in the supervisor, the kernel continues to queue connections,
and the next edge accepts them.
"""

import socket
from collections.abc import MutableMapping
from typing import Final

LISTEN_FDS: Final = "HEADWATER_LISTEN_FDS"


def take_sockets(environment: MutableMapping[str, str]) -> list[socket.socket]:
    """Remove the variable from the environment and return its sockets; an empty list if it is not set."""
    numbers = environment.pop(LISTEN_FDS, "")
    sockets = [socket.socket(fileno=int(number)) for number in numbers.split(",") if number.isdigit()]
    for listener in sockets:
        listener.setblocking(False)
        listener.set_inheritable(False)
    return sockets
