"""Let go of the pages of programs and libraries that were needed only to load or to start them.

The kernel maps a file's pages when they are read, with their neighbours, and leaves them mapped until memory is short. Most of
the code that runs while a process loads its libraries does not run again. `madvise(MADV_DONTNEED)` takes such pages
from the process; they stay in the kernel's page cache, and one that is used again is mapped again (a minor fault, some
0.5 us, for 16 pages at a time).

Danger: MADV_DONTNEED throws changed pages away. Here it is called only for mappings that cannot be written and of which the kernel
says that no page was changed (`Anonymous: 0 kB`): a library's tables of addresses are read-only after they were changed.
"""

import ctypes
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

_MADV_DONTNEED = 4
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (r-[-x]p) [0-9a-f]+ \S+ [1-9]\d* +/")
"""The head of a private mapping of a file that cannot be written."""


def release_file_pages() -> None:
    """Take the unchanged pages of all mapped files from this process; do nothing where the system does not list them."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        with open("/proc/self/smaps", encoding="utf-8", errors="surrogateescape") as smaps:
            ranges = list(
                unchanged_ranges(smaps)
            )  # line by line: the whole text would take 2 MB of each process
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for start, size in ranges:
            madvise(start, size, _MADV_DONTNEED)


def unchanged_ranges(smaps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield address and size of each mapping of a file that has no changed page and cannot be written (pure).

    `smaps` are the lines of `/proc/PID/smaps`. Source: proc_pid_smaps(5).
    """
    start = size = 0
    for line in smaps:
        if not "A" <= line[0] <= "Z":  # names of figures begin with a capital, addresses do not
            head = _HEAD.match(line)
            start, stop = (int(head[1], 16), int(head[2], 16)) if head else (0, 0)
            size = stop - start
        elif size and line.startswith("Anonymous: ") and line.split()[1] == "0":
            yield start, size
