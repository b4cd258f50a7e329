"""The files of a database that is branched: whether there is room for a copy, what of the log it needs, and whose the copy is."""

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from services.supervisor.branches import overrides
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.errors import StartRefused
from services.supervisor.postgres.cluster import Cluster, server_environment
from services.supervisor.postgres.system_user import run_as

_MIB = 1024 * 1024
_CLEAN = re.compile(r"^Database cluster state:\s+shut down$", re.MULTILINE)
_SEGMENT = re.compile(r"^Latest checkpoint's REDO WAL file:\s+([0-9A-F]{24})$", re.MULTILINE | re.ASCII)


def check_room(cluster: Cluster, draft: DataFolder) -> None:
    """Check that the disk has room for a copy that shares nothing. Raises: StartRefused."""
    size = _size_on_disk(cluster.data)
    free = shutil.disk_usage(draft.path).free
    if size + 64 * _MIB > free:
        raise StartRefused(
            f"The disk of {draft.path.parent} has {free // _MIB} MB, and a copy of the database may need {size // _MIB} MB. Free some."
        )


def _size_on_disk(folder: Path) -> int:
    """Return the bytes that the files of a folder take; a running server removes some of them meanwhile."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                size += os.lstat(Path(place, name)).st_blocks * 512
    return size


def needed_segments(cluster: Cluster) -> list[str]:
    """Return the segments of the log that a stopped database needs: one after a clean stop, else none, which means all."""
    done = subprocess.run(  # noqa: S603 - our own program on our own folder
        [cluster.programs / "pg_controldata", "-D", str(cluster.data)],
        cwd="/",
        env=server_environment(),
        capture_output=True,
        text=True,
        check=False,
        **run_as(cluster.user),
    )
    segment = _SEGMENT.search(done.stdout)
    return [segment[1]] if done.returncode == 0 and _CLEAN.search(done.stdout) and segment else []


def drop_parents_settings(cluster: Cluster) -> None:
    """Remove the settings of `alter system` that belong to the parent alone."""
    path = cluster.data / "postgresql.auto.conf"
    with contextlib.suppress(FileNotFoundError):
        path.write_text(overrides.safe_server_lines(path.read_text()))
