"""Which program listens on a port of this machine: named where a start meets a port in use.

Linux shows it in /proc: the table of sockets names an inode, and the process whose open files have that inode holds it. Processes of
other users cannot be seen, nor can any on other systems; then it is "another program".
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from services.supervisor.data_folder.folder import DataFolder, is_data_folder, is_locked

UNKNOWN = "another program"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = "0A"
_DEEPEST = 4
"""A path in a command line of a platform lies at most so many folders below its data folder."""


def port_holder(port: int) -> str:
    """Return the program that listens on a port, such as `postgres (process 812, the platform in /srv/app/.headwater)`."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for pid in _processes() if inodes else ():
        with suppress(OSError):
            if not inodes.isdisjoint(_open_files(pid)):
                return _described(pid)
    return UNKNOWN


def _listening_inodes(port: int) -> Iterator[str]:
    for table in _TABLES:
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _processes() -> list[str]:
    with suppress(OSError):
        return [name for name in os.listdir("/proc") if name.isdecimal()]
    return []


def _open_files(pid: str) -> Iterator[str]:
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):  # closed meanwhile
            yield os.readlink(f"/proc/{pid}/fd/{name}")


def _described(pid: str) -> str:
    name = Path(f"/proc/{pid}/comm").read_bytes().decode(errors="replace").strip()  # cut off after 15 bytes
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    with suppress(OSError):
        words.append(os.readlink(f"/proc/{pid}/cwd"))
    for path in (Path(word) for word in words if word.startswith("/")):
        for folder in (path, *path.parents)[:_DEEPEST]:
            if is_locked(DataFolder(folder).lock) and is_data_folder(folder):
                return f"{name} (process {pid}, the platform in {folder})"
    return f"{name} (process {pid})"
