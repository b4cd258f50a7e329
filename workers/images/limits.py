"""Limits of a render and how they are enforced.

Bytes, pixels and frames are checked before anything is decoded. The kernel limits the memory of the decoder processes
and of the worker that starts them. A decoder that exceeds the time limit is killed (`decoder_processes.py`).
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


class DecoderLimits(Struct, frozen=True):
    """The limits of one render; sizes in bytes, times in seconds."""

    source_bytes: int = 25 * 1024 * 1024
    source_pixels: int = 50_000_000
    frames: int = 60
    result_bytes: int = 64 * 1024 * 1024
    memory: int = 1024 * 1024 * 1024
    timeout: float = 15.0


def limits_of(settings: ImageTransformation) -> DecoderLimits:
    """Return the limits of the settings."""
    return DecoderLimits(
        source_bytes=int(settings.max_source_size),
        source_pixels=settings.max_source_pixels,
        frames=settings.max_frames,
        memory=int(settings.process_memory),
        timeout=float(settings.timeout),
    )


def bound_memory(most: int) -> None:
    """Limit the data segment of this process and its children to `most` bytes (RLIMIT_DATA). Only Linux counts all
    memory.
    """
    _bound(resource.RLIMIT_DATA, most)


def confine(limits: DecoderLimits) -> None:
    """Drop what a decoder process does not need: memory, files, core dumps, new privileges, priority."""
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
    """Lower a resource limit; a lower one stays."""
    soft, hard = resource.getrlimit(what)
    limits = [limit for limit in (soft, hard, most) if limit != resource.RLIM_INFINITY]
    with suppress(ValueError, OSError):  # a system without this limit
        resource.setrlimit(what, (min(limits), min(limits)))
