"""Stop processes that an earlier supervisor left behind: it was killed, and its children still run.

They are identified by process id and start time from the state file, Postgres by its own lock file. They are stopped before
any new process starts, because they hold the ports and the database.

A database server that was killed leaves its lock file `postmaster.pid` behind. Postgres takes the file for stale when no process
has the id in it. Two cases keep it from starting: a zombie of the server below a parent that does not reap, such as a container's
first process, and a process id that another program got meanwhile. Here the file is removed in both cases, once no process
works in the data folder: every process of a server has that folder as its working directory.
"""

import signal
import time
from collections.abc import Callable

from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import read_state, remove_state
from services.supervisor.errors import StartFailed
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.server import server_pid
from services.supervisor.processes.identity import (
    command_of,
    exists,
    identity,
    processes_in,
    terminate,
    wait_until_gone,
)
from services.supervisor.report import Reporter

_GRACE_S = 0.5
_REAPED_S, _VACATED_S, _POLL_S = 2.0, 20.0, 0.05
_FAST = [(signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0)]
_TERMINATE = [(signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)]


def stop_leftovers(folder: DataFolder, report: Reporter) -> None:
    """Stop the children of an earlier run that still live. Raises: StartFailed if one does not exit."""
    state = read_state(folder)
    for child in reversed(state.children if state else []):
        if child.pid and child.born and not wait_until_gone(child.pid, child.born, _GRACE_S):
            _end(child.name, child.pid, child.born, report)
    remove_state(folder)


def stop_stray_server(cluster: Cluster, report: Reporter) -> None:
    """Stop a database server that runs in this cluster but not in the state file. Raises: StartFailed if it does not exit."""
    pid = server_pid(cluster)
    if not pid:
        return
    born = identity(pid)
    if born and _is_server_of(pid, cluster):
        _end("postgres", pid, born, report)
    elif exists(pid):
        _remove_stale_lock(pid, cluster, report)


def _remove_stale_lock(pid: int, cluster: Cluster, report: Reporter) -> None:
    """Remove a lock file that names a zombie or another program. Raises: StartFailed while the data folder is in use."""
    _wait_until(
        lambda: identity(pid) is not None or not exists(pid), _REAPED_S
    )  # a parent that reaps does it within moments
    if not _wait_until(lambda: not processes_in(cluster.data), _VACATED_S):
        raise StartFailed(
            f"Processes {', '.join(map(str, processes_in(cluster.data)))} of an earlier database server still work in "
            f"{cluster.data}. End them and start again."
        )
    if exists(pid):
        report.info(f"Removing the lock file of a database server that was killed (process {pid})")
        (cluster.data / "postmaster.pid").unlink(missing_ok=True)


def _wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait up to `seconds` until a condition is true; return whether it is."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _end(name: str, pid: int, born: str, report: Reporter) -> None:
    report.info(f"Stopping {name} (process {pid}), left over from an earlier run")
    if not terminate(pid, born, _FAST if name == "postgres" else _TERMINATE):
        raise StartFailed(
            f"{name} (process {pid}) of an earlier run does not end. End it yourself and start again."
        )


def _is_server_of(pid: int, cluster: Cluster) -> bool:
    """Return whether a process id belongs to a server of this cluster, and not to another program that got the id."""
    return str(cluster.data) in command_of(pid)
