"""Run a server for the time of a block: a shadow of the database, or one that recovers.

It listens on a port that was free when it was chosen. Another program may take that port before the server does (two `db diff` at
the same time both prefer the shadow's), so a server that could not listen is started again on another port.
"""

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

from services.supervisor.errors import StartFailed
from services.supervisor.ports import LOOPBACK, PortRequest, choose_ports
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import Cluster, server_environment
from services.supervisor.postgres.system_user import run_as

_STOP_S = 10.0
_PAUSE_S = 0.02
_REPORT_EVERY_S = 5.0
_PORTS_TRIED = 5
_PORT_IS_TAKEN = "Address already in use"


@contextlib.contextmanager
def running_server(
    cluster: Cluster,
    name: str,
    *,
    preferred_port: int = 0,
    timeout_s: float | None,
    stop_s: float = _STOP_S,
    report: Callable[[], None] = lambda: None,
) -> Iterator[int]:
    """Run a prepared server until the block ends, and yield its port; its log is `log` in the cluster's home.

    `timeout_s` None waits as long as the server starts, as one that recovers may for hours; `report` is called meanwhile.
    Raises: StartFailed with the reason that its log gives.
    """
    with contextlib.ExitStack() as running:
        for attempt in range(1, _PORTS_TRIED + 1):
            port = choose_ports([PortRequest("db", name, "", LOOPBACK, 0)], {"db": preferred_port}).db
            process = running.enter_context(_process(cluster, port, stop_s))
            try:
                _wait(cluster, process, name, timeout_s, report)
            except StartFailed:
                if attempt == _PORTS_TRIED or _PORT_IS_TAKEN not in log_text(cluster):
                    raise
            else:
                break
        yield port


@contextlib.contextmanager
def _process(cluster: Cluster, port: int, stop_s: float) -> Iterator["subprocess.Popen[bytes]"]:
    with (cluster.home / "log").open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program on our own folder
            [str(cluster.programs / "postgres"), "-D", str(cluster.data), "-p", str(port)],
            cwd="/",
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            **run_as(cluster.user),
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)  # fast shutdown
            try:
                process.wait(stop_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(
    cluster: Cluster,
    process: "subprocess.Popen[bytes]",
    name: str,
    timeout_s: float | None,
    report: Callable[[], None],
) -> None:
    began = reported_at = time.monotonic()
    while not server.is_ready(cluster, process.pid):
        now = time.monotonic()
        if process.poll() is not None or (timeout_s is not None and now - began > timeout_s):
            raise StartFailed(f"{name} did not start: {_reason(cluster)}")
        if now - reported_at > _REPORT_EVERY_S:
            reported_at = now
            report()
        time.sleep(_PAUSE_S)


def log_text(cluster: Cluster) -> str:
    """Return the log of the last run."""
    return (cluster.home / "log").read_text(errors="replace")


def _reason(cluster: Cluster) -> str:
    """Return the last line of the log that is an error, else the last line."""
    lines = log_text(cluster).strip().splitlines() or ["it wrote nothing"]
    return next((line for line in reversed(lines) if re.search(r" (FATAL|PANIC|ERROR): ", line)), lines[-1])
