"""A machine of its own for one platform, whose clock jumps and whose disk is slow: a library that all its processes load.

The platform starts in a mount namespace whose /etc/ld.so.preload names the library, so that no other process of the machine is
concerned and no environment has to be passed on. That takes root and a C compiler. nats-server is linked statically and loads no
library: its clock and its disk stay true.
"""

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
_STATE = struct.Struct("qq")


class StrangeMachine:
    """The clock and the disk of the processes that are started with `prefix`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "state"
        self._etc = folder / "etc"
        self._ahead_s = self._sync_us = 0

    @property
    def prefix(self) -> tuple[str, ...]:
        """What a command begins with that runs on this machine."""
        script = f'mount --bind {self._etc} /etc && exec "$@"'
        return ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")

    def make(self) -> None:
        """Build the library and its /etc."""
        self._folder.chmod(0o755)
        self._write()
        self._file.chmod(0o644)
        library = self._folder / "strange.so"
        command = [
            "gcc",
            "-O1",
            "-shared",
            "-fPIC",
            f'-DFILE="{self._file}"',
            "-o",
            str(library),
            str(SOURCE),
        ]
        subprocess.run(command, check=True, capture_output=True)
        shutil.copytree("/etc", self._etc, symlinks=True, ignore_dangling_symlinks=True)
        (self._etc / "ld.so.preload").write_text(f"{library}\n")

    def set_clock(self, ahead_s: int) -> None:
        """Set the wall clock so many seconds ahead of the true one; behind it if negative."""
        self._ahead_s = ahead_s
        self._write()

    def slow_syncs(self, seconds: float) -> None:
        """Let each confirmation by the disk take so much longer."""
        self._sync_us = int(seconds * 1_000_000)
        self._write()

    def _write(self) -> None:
        with self._file.open("r+b" if self._file.exists() else "w+b") as file:
            file.write(_STATE.pack(self._ahead_s, self._sync_us).ljust(4096, b"\0"))


def is_possible() -> bool:
    """Whether this machine lets us make one."""
    if os.geteuid() != 0 or shutil.which("gcc") is None or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def strange_machine() -> Iterator[StrangeMachine]:
    """Make a machine; its folder is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-machine-"))
    try:
        machine = StrangeMachine(folder)
        machine.make()
        yield machine
    finally:
        shutil.rmtree(folder, ignore_errors=True)
