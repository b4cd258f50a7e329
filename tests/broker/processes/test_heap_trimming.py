"""Freed memory stays in the heap, in a process of its own: the settings of the C library last as long as a process."""

import subprocess
import sys

_PROGRAM = """
import ctypes, sys
from broker.processes.heap_trimming import keep_freed_memory
libc = ctypes.CDLL(None)
libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
if sys.argv[1] == "kept":
    keep_freed_memory()
chunks = [bytes(100_000) for _ in range(80)]
end = libc.sbrk(0)
chunks.clear()
print(end - libc.sbrk(0))
"""


def returned_bytes(how: str) -> int:
    """Return how many bytes of the heap went back to the kernel when chunks of a body were freed."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, how], check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_chunks_of_a_body_leave_their_memory_to_the_next_one() -> None:
    assert returned_bytes("kept") == 0
    assert returned_bytes("as usual") > 1_000_000
