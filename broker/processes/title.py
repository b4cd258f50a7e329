"""Change the command line that `ps` and `top` show for a forked process.

A forked process has the command line of the process that forked it. Linux reads the command line from the memory of
the process itself, between two addresses that `/proc/self/stat` names (fields 48 and 49, `arg_start` and `arg_end`).
When the last byte of that area is not zero, the kernel takes the area for rewritten and shows the text up to its
first zero byte (fs/proc/base.c, `get_mm_proctitle`). A text that is longer than the area is cut.
"""

import ctypes
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_AFTER_NAME = ")"
_ARG_START, _ARG_END = 45, 46
"""Indexes of the fields 48 and 49, counted from the field after the program's name."""


def show_command(argv: Sequence[str]) -> None:
    """Show these words as the command line of this process; do nothing where the system does not report its address."""
    if sys.platform != "linux":
        return
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(_AFTER_NAME)[2].split()
        start, size = int(fields[_ARG_START]), int(fields[_ARG_END]) - int(fields[_ARG_START])
        if start > 0 and size > 1:
            # Danger: this overwrites memory. It stays within the argument area, whose bounds the kernel reports.
            ctypes.memmove(start, padded(argv, size), size)


def padded(argv: Sequence[str], size: int) -> bytes:
    """Return the bytes of a rewritten command line: the words, zeros up to the size, and a last byte that is not zero."""
    text = " ".join(argv).encode(errors="surrogateescape").replace(b"\0", b" ")[: max(0, size - 2)]
    return text.ljust(size - 1, b"\0") + b"\1"
