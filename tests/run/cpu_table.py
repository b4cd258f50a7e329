"""The CPU time of each test with all processes that it starts: TESTS_CPU_TABLE=cpu.jsonl make check-tests (as root, Linux).

Servers, browsers and platforms are no children of the process that tests, so the kernel counts: each process of the run has a
control group of its own (cpuacct), which what it starts is in as well. A line of JSON for each test: its name and CPU seconds.
Set-up of a shared fixture counts for its first test, and what runs on after a test for the next one.
"""

import json
import os
from pathlib import Path
from typing import TextIO

import pytest

VARIABLE = "TESTS_CPU_TABLE"
_GROUPS = Path("/sys/fs/cgroup/cpuacct")


class CpuTable:
    """Writes the lines of one process."""

    def __init__(self, group: Path, output: TextIO) -> None:
        self._usage = group / "cpuacct.usage"
        self._output = output
        self._before = self._read()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the line of a test that has ended."""
        now = self._read()
        self._output.write(json.dumps([nodeid, (now - self._before) / 1e9]) + "\n")
        self._output.flush()
        self._before = now

    def _read(self) -> int:
        return int(self._usage.read_text())


def add_cpu_table(config: pytest.Config) -> None:
    """Measure this process's tests if the environment names a file. Raises: OSError if the kernel or the user cannot."""
    if path := os.environ.get(VARIABLE):
        group = _GROUPS / f"headwater-tests-{os.getpid()}"
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
        config.pluginmanager.register(CpuTable(group, Path(path).open("a")), "cpu-table")  # noqa: SIM115  (until the process ends)
