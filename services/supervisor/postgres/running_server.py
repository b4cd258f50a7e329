"""Run a server for the time of a block: a shadow of the database, or one that recovers."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

from services.supervisor.errors import StartFailed
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import Cluster, server_environment
from services.supervisor.postgres.system_user import run_as

_STOP_S = 10.0
_PAUSE_S = 0.02
_REPORT_EVERY_S = 5.0


@contextlib.contextmanager
def running_server(
    cluster: Cluster,
    name: str,
    *,
    timeout_s: float | None,
    stop_s: float = _STOP_S,
    report: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Run a prepared server until the block ends; its log is `log` in the cluster's home. `report` is called while it starts.

    `timeout_s` None waits as long as the server starts, as one that recovers may for hours. Raises: StartFailed with the last line of its log.
    """
    log = cluster.home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program on our own folder
            [str(cluster.programs / "postgres"), "-D", str(cluster.data)],
            cwd="/",
            env=server_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            **run_as(cluster.user),
        )
        try:
            _wait(cluster, process, name, timeout_s, report)
            yield
        finally:
            process.send_signal(signal.SIGINT)
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
            raise StartFailed(f"{name} did not start: {last_line(cluster)}")
        if now - reported_at > _REPORT_EVERY_S:
            reported_at = now
            report()
        time.sleep(_PAUSE_S)


def log_text(cluster: Cluster) -> str:
    """Return the log of the last run."""
    return (cluster.home / "log").read_text(errors="replace")


def last_line(cluster: Cluster) -> str:
    """Return the last line of the log of the last run."""
    lines = log_text(cluster).strip().splitlines()
    return lines[-1] if lines else "it said nothing"
