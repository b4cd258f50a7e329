"""The lines that a process writes into the pipe of its supervisor: signs of life, with the faults it knows of.

Loaded by the supervisor too, which has neither metrics nor log of its own: nothing heavy is imported here.
"""

import msgspec

from schemas.faults import Fault

SIGN = b"alive\n"
LOADING = b"loading\n"
"""Written by a process that is about to load a program: the next sign of life may take a while."""

_WORD = b"alive"
_decode = msgspec.json.Decoder(list[Fault]).decode


def sign_with(faults: list[Fault]) -> bytes:
    """Return the line of a sign of life; with at most eight short faults it is written in one piece."""
    return b"%b %b\n" % (_WORD, msgspec.json.encode(faults)) if faults else SIGN


def read_sign(line: bytes) -> list[Fault] | None:
    """Return the faults of a line from the pipe; None if the line is no sign of life."""
    word, _, rest = line.strip().partition(b" ")
    if word != _WORD:
        return None
    try:
        return _decode(rest) if rest else []
    except msgspec.MsgspecError:
        return []
