"""A small JSON file by which a pool asks the supervisor for something: written once, taken once.

Whoever writes a request waits some seconds until it is taken, and withdraws it then. One that is older was left by a process that was killed:
nobody waits for it, and what it asks for (to delete a branch, say) must not happen at the next start. It is dropped.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

_LONGEST = 256 * 1024
_WRITTEN_S = 10.0
"""Age up to which an empty request is one that is being written."""
_STALE_S = 30.0
"""Age from which nobody waits for a request any more."""

S = TypeVar("S", bound=Struct)


def write_request_file(path: Path, request: Struct) -> bool:
    """Write a request, and its folder if it is missing; return whether there was no other one. Raises: OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if _age_s(path.stat()) > _STALE_S:
            path.unlink()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    try:
        with open(descriptor, "wb") as file:
            file.write(msgspec.json.encode(request))
    except OSError:  # a full disk: an empty file would refuse the next request
        path.unlink(missing_ok=True)
        raise
    return True


def take_request_file(path: Path, kind: type[S]) -> S | None:
    """Remove a request and return it; None without one, for one that is being written, one that is stale, and for what is no request."""
    request: S | None = None
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST)
            age_s = _age_s(os.fstat(file.fileno()))
        if not content and age_s < _WRITTEN_S:
            return None
        request = msgspec.json.decode(content, type=kind) if age_s <= _STALE_S else None
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        request = None
    with contextlib.suppress(OSError):  # it stays, and is taken again at the next look
        path.unlink()
    return request


def withdraw_request_file(path: Path) -> bool:
    """Remove a request that no supervisor took; return whether there was one: else it was taken in this moment."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _age_s(state: os.stat_result) -> float:
    return abs(time.time() - state.st_mtime)
