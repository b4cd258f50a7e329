"""Format and parse the lines that a process writes into the pipe of its supervisor: that it is ready, and heartbeats with its faults.

The supervisor loads this module too, and must stay small: metrics and logging are not imported here.
"""

import msgspec

from schemas.faults import Fault

READY = b"ready\n"
"""Written once, when a process serves."""
HEARTBEAT = b"alive\n"
LOADING = b"loading\n"
"""Written by a process that is about to load a program: its next heartbeat may take longer."""

_WORD = b"alive"
_decode = msgspec.json.Decoder(list[Fault]).decode


def heartbeat_line(faults: list[Fault]) -> bytes:
    """Return the line of a heartbeat; with at most eight short faults it fits one atomic write to a pipe."""
    return b"%b %b\n" % (_WORD, msgspec.json.encode(faults)) if faults else HEARTBEAT


def parse_heartbeat(line: bytes) -> list[Fault] | None:
    """Return the faults of a line from the pipe; None if the line is not a heartbeat."""
    word, _, rest = line.strip().partition(b" ")
    if word != _WORD:
        return None
    try:
        return _decode(rest) if rest else []
    except msgspec.MsgspecError:
        return []
