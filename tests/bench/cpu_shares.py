"""Control groups that give processes a share of a core, so that a machine with two cores can stand for one with more, slower ones.

A group gets `share` x 10 ms of processor time in each 10 ms, whatever else the machine does; a share of 2 is two cores. Works
with the controller `cpu` of cgroup v2, and of v1 where that is mounted. Needs root, and a machine whose groups no init system manages.
Source: Linux kernel documentation, "CFS Bandwidth Control" and "Control Group v2".
"""

import os
from collections.abc import Iterable
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 10_000
_LEAST_QUOTA_US = 1_000
"""Of the kernel."""

_ATTEMPTS = 100


class SharesUnavailable(Exception):
    """This machine lets us create no group with a share of the processor; the text is the reason."""


class ShareGroup:
    """A group of processes and its share. `close` lets the processes go and removes the group."""

    def __init__(self, name: str, share: float) -> None:
        self._is_v2 = not (_ROOT / "cpu").is_dir()
        self._top = _ROOT if self._is_v2 else _ROOT / "cpu"
        self._folder = self._top / f"headwater-bench-{os.getpid()}-{name}"
        try:
            if self._is_v2:
                (_ROOT / "cgroup.subtree_control").write_text("+cpu")
            self._folder.mkdir()
            self.set_share(share)
        except OSError as error:
            raise SharesUnavailable(f"{self._folder}: {error.strerror}") from error

    def set_share(self, share: float) -> None:
        """Set the cores that all processes of the group may use together."""
        quota = round(share * _PERIOD_US)
        if quota < _LEAST_QUOTA_US:
            raise ValueError(f"a share is {_LEAST_QUOTA_US / _PERIOD_US} of a core at least")
        if self._is_v2:
            (self._folder / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
        else:
            (self._folder / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (self._folder / "cpu.cfs_quota_us").write_text(str(quota))

    def add(self, pids: Iterable[int]) -> None:
        """Move processes into the group; what they start later is in it too. One that has ended is left out."""
        _move(pids, self._folder)

    def throttled(self) -> tuple[int, int]:
        """Return the periods in which a process of the group ran, and those in which its share was used up."""
        lines = (self._folder / "cpu.stat").read_text().splitlines()
        values = {name: int(value) for name, value in (line.split() for line in lines)}
        return values["nr_periods"], values["nr_throttled"]

    def close(self) -> None:
        """Move the processes back and remove the group. Raises: OSError if it does not become empty."""
        for attempt in range(_ATTEMPTS):
            _move(map(int, (self._folder / "cgroup.procs").read_text().split()), self._top)
            try:
                self._folder.rmdir()
                return
            except OSError:  # a process that was moved had started another meanwhile
                if attempt == _ATTEMPTS - 1:
                    raise


def _move(pids: Iterable[int], folder: Path) -> None:
    for pid in pids:
        try:
            (folder / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            continue
