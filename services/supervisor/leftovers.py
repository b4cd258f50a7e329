"""Processes that an earlier supervisor left behind: it was killed, and its children have not ended yet.

They are known by process id and birth from the state file, and Postgres by its own lock file. They are ended before
anything new starts, because they hold the ports and the database.
"""

import signal

from services.supervisor.cluster import Cluster
from services.supervisor.errors import StartFailed
from services.supervisor.folder import DataFolder
from services.supervisor.identity import command_of, end, gone, identity
from services.supervisor.postgres import server_pid
from services.supervisor.report import Reporter
from services.supervisor.state import forget_state, read_state

_GRACE_S = 0.5
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
    born = identity(pid) if pid else None
    if pid and born and _is_server_of(pid, cluster):
        _end("postgres", pid, born, report)


def _end(name: str, pid: int, born: str, report: Reporter) -> None:
    report.say(f"Stopping {name} (process {pid}), left over from an earlier run")
    if not end(pid, born, _FAST if name == "postgres" else _POLITE):
        raise StartFailed(
            f"{name} (process {pid}) of an earlier run does not end. End it yourself and start again."
        )


def _is_server_of(pid: int, cluster: Cluster) -> bool:
    """Tell whether a process id still is the server that wrote the lock file, and not a stranger's."""
    return str(cluster.data) in command_of(pid)
