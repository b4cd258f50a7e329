"""Copies of files: as a clone where the file system can (btrfs, XFS, ZFS), else by the kernel; of files that never change as hard links.

A clone shares its blocks with the source until one of both is written. Source: Linux, ioctl_ficlone(2), copy_file_range(2).
"""

import ctypes
import errno
import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FICLONE = 0x40049409
_PIECE = 64 * 1024 * 1024
_THREADS = 4
_NO_CLONE = frozenset({errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM})


@dataclass(frozen=True, slots=True)
class CopiedTree:
    """What was copied: files, their bytes, and how many of these are clones."""

    files: int
    size: int
    cloned: int


def copy_tree(source: Path, target: Path, leave_out: Callable[[str], bool]) -> CopiedTree:
    """Copy a folder; `leave_out` gets paths relative to it. A file that is removed meanwhile is left out, one that grows or shrinks is
    copied as it is read. Links to other places are not followed.

    Raises: OSError.
    """
    files: list[tuple[Path, Path]] = []
    for path, is_folder in _walk(source, "", leave_out):
        if is_folder:
            (target / path).mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            files.append((source / path, target / path))
    with ThreadPoolExecutor(_THREADS) as pool:
        sizes = list(pool.map(lambda pair: copy_file(*pair), files))
    there = [size for size in sizes if size is not None]
    return CopiedTree(
        len(there), sum(size for size, _ in there), sum(size for size, cloned in there if cloned)
    )


def copy_file(source: Path, target: Path) -> tuple[int, bool] | None:
    """Copy a file with the mode 0600; return its bytes and whether it was cloned, None if it is gone. Raises: OSError."""
    try:
        reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            cloned = _clone(reading, writing)
            if not cloned:
                _copy_bytes(reading, writing)
            return os.fstat(writing).st_size, cloned
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def link_tree(source: Path, target: Path) -> int:
    """Give every file of a folder a second name below `target`, or copy it where the file system cannot; return how many were new.

    Files must never be written again. One that is removed meanwhile is left out; names that exist stay. Raises: OSError.
    """
    new = 0
    for path, is_folder in _walk(source, "", lambda _: False):
        if is_folder:
            (target / path).mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        with suppress(FileExistsError, FileNotFoundError):
            try:
                os.link(source / path, target / path)
            except OSError as error:
                if isinstance(error, FileExistsError | FileNotFoundError):
                    raise
                copy_file(source / path, target / path)
            new += 1
    return new


def flush_file_system(path: Path) -> None:
    """Wait until everything that was written to the file system of a folder is on its disk (Linux, syncfs(2)). Raises: OSError."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(descriptor)


def _walk(folder: Path, path: str, leave_out: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """Yield the paths below a folder and whether each is a folder, folders before what is in them."""
    try:
        entries = sorted(os.scandir(folder / path), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        name = f"{path}{entry.name}"
        if leave_out(name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield name, True
            yield from _walk(folder, f"{name}/", leave_out)
        elif entry.is_file(follow_symlinks=False):
            yield name, False


def _clone(reading: int, writing: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno in _NO_CLONE:
            return False
        raise
    return True


def _copy_bytes(reading: int, writing: int) -> None:
    """Copy to the end of the file, which may grow meanwhile."""
    while True:
        try:
            if not os.copy_file_range(reading, writing, _PIECE):
                return
        except OSError as error:
            if error.errno not in _NO_CLONE:
                raise
            break
    while data := os.read(reading, _PIECE // 64):
        view = memoryview(data)
        while view:
            view = view[os.write(writing, view) :]
