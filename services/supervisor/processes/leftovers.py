"""Processes that an earlier supervisor left behind: it was killed, and its children have not ended yet.

They are known by process id and birth from the state file, and Postgres by its own lock file. They are ended before
anything new starts, because they hold the ports and the database.

A database server that was killed leaves its lock file behind. Postgres takes the file for stale when no process has the id
in it, so two cases keep it from starting: the remains (zombie) of the server itself below a parent that does not reap, such
as a container's first process, and a process id that another program got meanwhile. Here the file is removed then, once no
process works in the data folder: every process of a server has that folder as its working directory.
"""

import signal
import time
from collections.abc import Callable

from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import forget_state, read_state
from services.supervisor.errors import StartFailed
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.postgres.server import server_pid
from services.supervisor.processes.identity import command_of, end, exists, gone, identity, working_in
from services.supervisor.report import Reporter

_GRACE_S = 0.5
_REAPED_S, _VACATED_S, _POLL_S = 2.0, 20.0, 0.05
_FAST = [(signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0)]
_POLITE = [(signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)]


def end_leftovers(folder: DataFolder, report: Reporter) -> None:
    """End the children of an earlier run that still live. Raises: StartFailed if one cannot be ended."""
    state = read_state(folder)
    for child in reversed(state.children if state else []):
        if child.pid and child.born and not gone(child.pid, child.born, _GRACE_S):
            _end(child.name, child.pid, child.born, report)
    forget_state(folder)


def end_stray_server(cluster: Cluster, report: Reporter) -> None:
    """End a database server that runs in this cluster without our knowing. Raises: StartFailed if it cannot be."""
    pid = server_pid(cluster)
    if not pid:
        return
    born = identity(pid)
    if born and _is_server_of(pid, cluster):
        _end("postgres", pid, born, report)
    elif exists(pid):
        _remove_stale_lock(pid, cluster, report)


def _remove_stale_lock(pid: int, cluster: Cluster, report: Reporter) -> None:
    """Remove a lock file that names the remains of a server, or another program. Raises: StartFailed while it is in use."""
    _comes_true(
        lambda: identity(pid) is not None or not exists(pid), _REAPED_S
    )  # a parent that reaps does so soon
    if not _comes_true(lambda: not working_in(cluster.data), _VACATED_S):
        raise StartFailed(
            f"Processes {', '.join(map(str, working_in(cluster.data)))} of an earlier database server still work in "
            f"{cluster.data}. End them and start again."
        )
    if exists(pid):
        report.say(f"Removing the lock file of a database server that was killed (process {pid})")
        (cluster.data / "postmaster.pid").unlink(missing_ok=True)


def _comes_true(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds, at most so many seconds; return whether it does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _end(name: str, pid: int, born: str, report: Reporter) -> None:
    report.say(f"Stopping {name} (process {pid}), left over from an earlier run")
    if not end(pid, born, _FAST if name == "postgres" else _POLITE):
        raise StartFailed(
            f"{name} (process {pid}) of an earlier run does not end. End it yourself and start again."
        )


def _is_server_of(pid: int, cluster: Cluster) -> bool:
    """Tell whether a process id still is the server that wrote the lock file, and not a stranger's."""
    return str(cluster.data) in command_of(pid)
