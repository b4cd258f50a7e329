"""What a supervisor and its fork server say to each other (`fork_server.py`); without the code that the fork server loads."""

from typing import Final

import msgspec

FORK_FD: Final = "HEADWATER_FORK_FD"
FORK: Final = b"f"
"""The byte that requests a fork; the descriptors travel with it."""


class ForkOrder(msgspec.Struct, frozen=True):
    """What to fork, as the forked process reads it from a descriptor (`memfd_create`)."""

    argv: list[str]
    """The command that `ps` shows: it would start the same program by itself."""
    program: list[str]
    """The module and its arguments."""
    environment: dict[str, str]
    folder: str
    stop_signal: int
    descriptors: list[tuple[str, int]]
    """Environment variables, each with the number of the request's descriptors that it lists.

    The request's first three descriptors are this order, the output, and the pipe for the process id.
    """
