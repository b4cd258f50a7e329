"""Temporary folders in memory, for runs of many processes as root on a machine that has enough of it.

A run makes some hundred data folders of Postgres, of a thousand files each, and deletes them again. On a file system of a disk
that alone was a sixth of all CPU time (ext4 without a journal looks for inodes that were not deleted lately), and waits beside.
`/dev/shm` does not serve: Deno reads nothing below `/dev`. `TMPDIR=/tmp make test` has them on the disk.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path

_NEEDED = 12 << 30
"""Bytes of memory that are available before a run: 5 GB were used at most, and the servers and browsers need theirs."""
DISK = "TESTS_DISK"
"""Variable that names the folder for temporary files on the disk, for tests of what is done on real file systems alone."""
_NAME = re.compile(r"headwater-run-(\d+)")


def use_memory(variables: MutableMapping[str, str]) -> Callable[[], None] | None:
    """Have temporary files of this process and its children made in memory.

    Returns what deletes them, or None if they stay where they are: `variables` names a folder, this user may not mount
    anything, or there is too little memory.
    """
    if sys.platform != "linux" or "TMPDIR" in variables or os.geteuid() != 0 or _available() < _NEEDED:
        return None
    variables[DISK] = tempfile.gettempdir()
    _delete_left_over(Path(tempfile.gettempdir()))
    folder = Path(tempfile.gettempdir(), f"headwater-run-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    options = f"mode=0711,size={_NEEDED}"
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "headwater-run", folder], capture_output=True, check=False
    ).returncode:
        folder.rmdir()
        return None
    variables["TMPDIR"] = tempfile.tempdir = str(folder)
    return lambda: _delete(folder)


def _available() -> int:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def _delete_left_over(parent: Path) -> None:
    """Delete the folders of runs whose process is gone: a run that was killed deletes nothing."""
    for folder in parent.iterdir():
        name = _NAME.fullmatch(folder.name)
        if name and not Path("/proc", name[1]).exists():
            _delete(folder)


def _delete(folder: Path) -> None:
    """Take a folder off at once; its memory is free when the last process that uses it ends."""
    subprocess.run(["umount", "--lazy", folder], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def on_disk() -> Iterator[None]:
    """Have temporary files of a block made on the disk, as the log of short uploads is not written elsewhere."""
    if DISK not in os.environ:
        yield
        return
    before = tempfile.tempdir, os.environ["TMPDIR"]
    os.environ["TMPDIR"] = tempfile.tempdir = os.environ[DISK]
    try:
        yield
    finally:
        tempfile.tempdir, os.environ["TMPDIR"] = before
