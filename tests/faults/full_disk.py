"""A small file system of its own, which a test fills and frees; as root only, for it is mounted."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A mounted file system in memory. `fill` takes all of it, `free` gives that back."""

    path: Path

    @property
    def _ballast(self) -> Path:
        return self.path / "ballast"

    def fill(self) -> None:
        """Take every byte that is free now; what others write afterwards fails."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1024 * 1024, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * size):
                        pass

    def free(self) -> None:
        """Give back what `fill` has taken."""
        self._ballast.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    """Mount a file system of so many megabytes, and unmount it at the end. Skips the test where that is not allowed."""
    path = Path(tempfile.mkdtemp(prefix="headwater-disk-"))
    path.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(path)]
    if os.name != "posix" or subprocess.run(mount, capture_output=True, check=False).returncode:
        path.rmdir()
        pytest.skip("no file system may be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
        path.rmdir()
