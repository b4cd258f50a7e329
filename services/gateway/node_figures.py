"""Figures of the machine as node_exporter names them, from the files of the kernel below /proc. On other systems than Linux there are none.

    node_cpu_seconds_total{cpu,mode}, node_load*, node_boot_time_seconds, node_context_switches_total ...     stat, loadavg
    node_memory_<field>_bytes, node_vmstat_<field>                                                            meminfo, vmstat
    node_disk_*{device}, node_network_*{device}, node_filesystem_*{device,fstype,mountpoint}                  diskstats, net/dev, mounts

In a container these are the machine's, but for networks and file systems. Source: the Linux manual, proc(5), and "I/O statistics fields".
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
_TICKS = 100.0
"""USER_HZ, in which the kernel shows times to programs, on every architecture that Postgres runs on."""
_SECTOR = 512
_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_COUNTS = {
    "ctxt": "node_context_switches_total",
    "intr": "node_intr_total",
    "processes": "node_forks_total",
    "procs_running": "node_procs_running",
    "procs_blocked": "node_procs_blocked",
    "btime": "node_boot_time_seconds",
}
_VMSTAT = ("oom_kill", "pgfault", "pgmajfault", "pgpgin", "pgpgout", "pswpin", "pswpout")
_DISK = (
    ("reads_completed_total", 1), ("reads_merged_total", 1), ("read_bytes_total", _SECTOR), ("read_time_seconds_total", 0.001),
    ("writes_completed_total", 1), ("writes_merged_total", 1), ("written_bytes_total", _SECTOR), ("write_time_seconds_total", 0.001),
    ("io_now", 1), ("io_time_seconds_total", 0.001), ("io_time_weighted_seconds_total", 0.001),
    ("discards_completed_total", 1), ("discards_merged_total", 1), ("discarded_sectors_total", 1), ("discard_time_seconds_total", 0.001),
    ("flush_requests_total", 1), ("flush_requests_time_seconds_total", 0.001),
)  # fmt: skip
"""Name and unit of each column of diskstats behind the device."""
_NETWORK = ("bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast",
            "bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed")  # fmt: skip
_RECEIVED = 8
_OTHER_DISKS = re.compile(r"(?:loop|ram|zram|fd)\d+|(?:[hsv]|xv)d[a-z]+\d+|nvme\d+n\d+p\d+")
"""Devices without a disk of their own, and partitions."""
_OTHER_NETWORKS = re.compile(r"lo|veth.*|ifb\d+")
_OCTAL = re.compile(r"\\([0-7]{3})")
_DATA = "/data"


class Figure(NamedTuple):
    """A sample: the name of its metric, its labels, its value."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


def node_figures(data: Path, proc: Path = PROC) -> list[Figure]:
    """Return the figures of this machine. Blocks. The file system of `data` is shown at /data, as that of hosted projects, unless one is mounted there."""
    readers = {"stat": _stat, "loadavg": _load, "meminfo": _memory, "vmstat": _vmstat, "diskstats": _disks}
    figures = [figure for name, read in readers.items() for figure in read(_text(proc / name))]
    if not figures:
        return []
    figures += _networks(_text(proc / "net" / "dev"))
    figures += _file_systems(_text(proc / "self" / "mounts"), data)
    return [*figures, Figure("node_time_seconds", (), time.time())]


def _text(path: Path) -> str:
    """Return a file of the kernel; nothing where it has none, or hides it from containers."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _rows(text: str) -> Iterator[tuple[str, list[float]]]:
    """Yield the first word of each line and the numbers behind it."""
    for line in text.splitlines():
        first, *words = line.split()
        yield first, [float(word) for word in words if word.isdecimal()]


def _stat(text: str) -> Iterator[Figure]:
    for name, numbers in _rows(text):
        if name in _COUNTS and numbers:
            yield Figure(_COUNTS[name], (), numbers[0])
        elif name.startswith("cpu") and name != "cpu":
            for mode, ticks in zip(_MODES, numbers, strict=False):
                yield Figure("node_cpu_seconds_total", (("cpu", name[3:]), ("mode", mode)), ticks / _TICKS)
            for mode, ticks in zip(("user", "nice"), numbers[len(_MODES) :], strict=False):
                labels = (("cpu", name[3:]), ("mode", mode))
                yield Figure("node_cpu_guest_seconds_total", labels, ticks / _TICKS)


def _load(text: str) -> Iterator[Figure]:
    for minutes, word in zip((1, 5, 15), text.split(), strict=False):
        yield Figure(f"node_load{minutes}", (), float(word))


def _memory(text: str) -> Iterator[Figure]:
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words:
            name = name.replace("(", "_").replace(")", "")
            is_size = words[-1] == "kB"
            yield Figure(
                f"node_memory_{name}{'_bytes' if is_size else ''}",
                (),
                float(words[0]) * (1024 if is_size else 1),
            )


def _vmstat(text: str) -> Iterator[Figure]:
    for name, numbers in _rows(text):
        if name in _VMSTAT and numbers:
            yield Figure(f"node_vmstat_{name}", (), numbers[0])


def _disks(text: str) -> Iterator[Figure]:
    for line in text.splitlines():
        _, _, device, *numbers = line.split()
        if not _OTHER_DISKS.fullmatch(device):
            for (name, unit), number in zip(_DISK, numbers, strict=False):
                yield Figure(f"node_disk_{name}", (("device", device),), float(number) * unit)


def _networks(text: str) -> Iterator[Figure]:
    for line in text.splitlines()[2:]:
        device, _, rest = line.partition(":")
        if _OTHER_NETWORKS.fullmatch(device.strip()):
            continue
        for place, number in enumerate(rest.split()):
            way = "receive" if place < _RECEIVED else "transmit"
            yield Figure(
                f"node_network_{way}_{_NETWORK[place]}_total", (("device", device.strip()),), float(number)
            )


def _file_systems(mounts: str, data: Path) -> Iterator[Figure]:
    """Yield the file systems on disks, and the root, whatever it is on; each disk once, by its first mount."""
    seen: set[str] = set()
    for line in mounts.splitlines():
        device, place, kind, options, *_ = (
            _OCTAL.sub(lambda code: chr(int(code[1], 8)), word) for word in line.split()
        )
        if (device.startswith("/dev/") or place == "/") and device not in seen and place not in seen:
            seen |= {device, place}
            is_readonly = "ro" in options.split(",")
            yield from _file_system(
                place, (("device", device), ("fstype", kind), ("mountpoint", place)), is_readonly
            )
    if _DATA not in seen:
        yield from _file_system(
            str(data), (("device", str(data)), ("fstype", ""), ("mountpoint", _DATA)), False
        )


def _file_system(place: str, labels: tuple[tuple[str, str], ...], is_readonly: bool) -> Iterator[Figure]:
    try:
        size = os.statvfs(place)
    except OSError:
        yield Figure("node_filesystem_device_error", labels, 1.0)
        return
    values = {
        "avail_bytes": size.f_bavail * size.f_frsize, "files": size.f_files, "files_free": size.f_ffree,
        "free_bytes": size.f_bfree * size.f_frsize, "readonly": is_readonly, "size_bytes": size.f_blocks * size.f_frsize,
        "device_error": 0,
    }  # fmt: skip
    for name, value in values.items():
        yield Figure(f"node_filesystem_{name}", labels, float(value))
