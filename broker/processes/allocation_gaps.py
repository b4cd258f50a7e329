"""Fill the gaps of CPython's allocator before processes are forked, so that they write to fewer of the pages that they share.

The allocator serves objects of up to 512 bytes from pools of 16 KiB, each for one size, and takes the gaps that freed objects left in
used pools before it opens a new pool (Objects/obmalloc.c). After a large program was loaded the gaps lie all over its memory. A forked process
would place its first objects there, and so get copies of pages on which a single small object is new. With full pools
its objects lie side by side in new ones. The same is done for larger objects, which the C library allocates.
"""

import ctypes

_SIZES = range(48, 513, 16)
_HEAD = 33
"""Bytes that a bytes object takes beside its content."""
_POOL_BYTES = 16 * 1024
_RUN = 24
_LARGE_BYTES = (65536, 32768, 16384, 8192, 4096, 2048, 1536, 1024, 768, 528)
_MOST_BYTES = 8 * 1024 * 1024
_PROBE_BYTES = 120 * 1024
"""More than a gap of interest has, and less than what the C library maps separately (128 KiB)."""


def filled_gaps() -> list[object]:
    """Return objects that fill the gaps of all pools; keep them as long as the process lives.

    Of each size objects are created until some in a row have neighbouring addresses, which shows that a new pool was opened.
    """
    filling: list[object] = []
    for size in _SIZES:
        run, last = 0, 0
        for _ in range(_MOST_BYTES // size):
            if run == min(_RUN, _POOL_BYTES // size // 2):
                break
            block = bytes(size - _HEAD)
            run = run + 1 if id(block) == last + size else 0
            last = id(block)
            filling.append(block)
    return filling


def fill_large_gaps() -> None:
    """Fill the gaps of the C library's heap with memory that is never freed. Do nothing where it is not the GNU one."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return  # elsewhere addresses do not show where the heap ends
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_size_t, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_size_t]
    end = libc.malloc(_PROBE_BYTES)  # at the end of the heap: no gap is so large
    for size in _LARGE_BYTES:
        for _ in range(_MOST_BYTES // size):
            place = libc.malloc(size)
            if not 0 < place < end:
                libc.free(place)
                break
    libc.free(end)
