"""Free ports for the servers of tests.

The system gives ports of its own range (Linux: 32768 and above) to outgoing connections and to whoever asks for any port. A port of
that range that is free now may belong to somebody else before a test's server listens there. So these are below it, and each
process of a run has a part of its own.
"""

import itertools
import os
import socket

_FIRST, _PART, _PARTS = 11_000, 2_000, 10


def _first_port() -> int:
    return _FIRST + int(os.environ.get("TESTS_PROCESS", "0")) % _PARTS * _PART


_numbers = itertools.count(os.getpid() * 37 % _PART)
"""Runs at the same time begin at different numbers."""


def free_port() -> int:
    """Return a port that nothing listens on now, and that the system gives to nobody by itself."""
    for number in itertools.islice(_numbers, _PART):
        port = _first_port() + number % _PART
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no port from {_first_port()} on is free")
