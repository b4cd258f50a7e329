"""What a render may cost, and how a process is held to it.

Bytes, pixels and frames are checked before anything is decoded; memory is bounded by the kernel, in the decoders and
in the process that commands them; time by the end of the decoder that takes too long (`decoders.py`).
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress

from msgspec import Struct

from schemas.settings.storage import ImageTransformation

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_NICENESS = 5


class Limits(Struct, frozen=True):
    """The limits of one render; sizes in bytes, times in seconds."""

    source_bytes: int = 25 * 1024 * 1024
    source_pixels: int = 50_000_000
    frames: int = 60
    result_bytes: int = 64 * 1024 * 1024
    memory: int = 1024 * 1024 * 1024
    timeout: float = 15.0


def limits_of(settings: ImageTransformation) -> Limits:
    """Take the limits from the settings."""
    return Limits(
        source_bytes=int(settings.max_source_size),
        source_pixels=settings.max_source_pixels,
        frames=settings.max_frames,
        memory=int(settings.process_memory),
        timeout=float(settings.timeout),
    )


def bound_memory(most: int) -> None:
    """Let this process, and those it starts, have so many bytes of data each. Only Linux holds to it wholly."""
    _bound(resource.RLIMIT_DATA, most)


def confine(limits: Limits) -> None:
    """Take from a decoder what it does not need: memory, files, dumps, rights to gain, precedence over others."""
    bound_memory(limits.memory)
    _bound(resource.RLIMIT_FSIZE, limits.result_bytes)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, 64)
    with suppress(OSError):
        os.nice(_NICENESS)
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _bound(what: int, most: int) -> None:
    """Lower a limit; one that is lower already stays."""
    soft, hard = resource.getrlimit(what)
    held = [each for each in (soft, hard, most) if each != resource.RLIM_INFINITY]
    with suppress(ValueError, OSError):  # a system that does not know the limit
        resource.setrlimit(what, (min(held), min(held)))
