"""`headwater stop`: stop a running platform, in order."""

import contextlib
import os
import signal
import time
from pathlib import Path

import click

from services.cli.options import data_folder, other_platforms, platform_options, refuse
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.data_folder.starting import starting_process
from services.supervisor.data_folder.state import read_state

_POLL_S = 0.02
_REPORT_EVERY_S = 5.0


@click.command()
@platform_options
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=90.0, show_default=True, help="Seconds to wait."
)
def stop(data: Path | None, project: Path | None, timeout: float) -> None:
    """Stop a running platform.

    Waits until it has ended; requests that are being answered are finished first. A start that has only just begun is waited for and
    stopped. Stopping what does not run is no error.

    \b
    Exit codes: 0 nothing runs any more, 1 it still runs after the timeout
    """
    folder = data_folder(data, project)
    began = time.monotonic()
    pid = _holder_or_starting(folder, began + timeout)
    if pid is None:
        click.echo(f"No platform is running in {folder.path}.{other_platforms()}")
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    reported_at = began
    while is_locked(folder.lock):
        now = time.monotonic()
        if now - began > timeout:
            refuse(
                f"It still runs after {timeout:.0f} s (process {pid}). Wait longer with --timeout, or kill it.",
                code=1,
            )
        if now - reported_at > _REPORT_EVERY_S:
            click.echo(f"Waiting for it to finish ({now - began:.0f} s)")
            reported_at = now
        time.sleep(_POLL_S)
    click.echo(f"Stopped after {time.monotonic() - began:.1f} s.")


def _holder_or_starting(folder: DataFolder, deadline: float) -> int | None:
    """Return the process that holds the lock of a data folder; wait for one that is about to take it."""
    is_reported = False
    while True:
        if (pid := _holder(folder)) is not None:
            return pid
        starting = starting_process(folder.path)
        if starting is None and not is_locked(folder.lock):
            return _holder(folder)  # it may have taken the lock between the two looks
        if time.monotonic() > deadline:
            refuse(
                f"Its start does not come to an end (process {starting}). Wait longer with --timeout, or kill it.",
                code=1,
            )
        if not is_reported:
            is_reported = True
            click.echo("A start has just begun; waiting until it can be stopped")
        time.sleep(_POLL_S)


def _holder(folder: DataFolder) -> int | None:
    """Return the process that holds the lock of a data folder, also of a start that is not ready yet."""
    if not is_locked(folder.lock):
        return None
    with contextlib.suppress(ValueError, OSError):
        return int(folder.lock.read_text())
    state = read_state(folder)
    return state.pid if state else None
