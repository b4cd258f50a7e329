"""`headwater projects start` and `stop`: the server of all projects."""

import os
import signal
import sys
import time

import click
import msgspec

from services.cli.options import refuse
from services.cli.output import Terminal
from services.middleware.limits import read_networks
from services.projects.names import checked_url
from services.projects.registry import ServerFolder, create_server_folder, read_front, running_server_state
from services.supervisor.data_folder.folder import is_locked
from services.supervisor.errors import StartRefused, SupervisorError
from services.supervisor.processes.detach import run_detached
from services.supervisor.report import Reporter

_STOP_S = 180.0
_PAUSE_S = 0.05
_FILE = click.Path(exists=True, dir_okay=False, resolve_path=True)


class ServerTerminal(Terminal):
    """Reports the start of a server on the terminal."""

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Print where it is."""
        count = values["projects"]
        self.info(
            f"Serving {count} project{'' if count == '1' else 's'} at {values['url']}. `headwater projects list` shows them."
        )
        self.info("Stop it with `headwater projects stop`." if self.is_detached else "Press Ctrl-C to stop.")


@click.command()
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on.  [default: 54330]")
@click.option("--url", help="Public address of the server, as https://apps.example.org: projects are below its host.  [default: http://localhost and the port]")  # fmt: skip
@click.option("--trusted-proxy", "proxies", multiple=True, metavar="NETWORK", help="Network of proxies whose X-Forwarded-* count; repeatable. `none`: no proxy.")  # fmt: skip
@click.option("--tls-cert", type=_FILE, help="Certificate for https, in PEM; read again when it changes.")
@click.option("--tls-key", type=_FILE, help="Its private key.")
@click.option("--wake-timeout", type=click.FloatRange(min=1), help="Longest time in seconds that a request waits for a project that wakes.  [default: 90]")  # fmt: skip
@click.option("--detach", "-d", is_flag=True, help="Return when it listens, and leave it running.")
@click.pass_obj
def start(
    folder: ServerFolder,
    host: str | None,
    port: int | None,
    url: str | None,
    proxies: tuple[str, ...],
    tls_cert: str | None,
    tls_key: str | None,
    wake_timeout: float | None,
    detach: bool,
) -> None:
    """Serve all projects until Ctrl-C, or with --detach until `headwater projects stop`.

    Options hold for later starts, too. Projects start with their first request.

    \b
    Exit codes: 0 stopped as asked, 1 a part failed, 2 refused: a port in use, a server that runs, a wrong option
    """
    try:
        create_server_folder(folder)
        before = read_front(folder)
        given = {
            "host": host,
            "port": port,
            "url": checked_url(url) if url else None,
            "trusted_proxies": _networks(proxies) if proxies else None,
            "tls_cert": tls_cert,
            "tls_key": tls_key,
            "wake_timeout_s": wake_timeout,
        }
        options = msgspec.structs.replace(
            before, **{name: value for name, value in given.items() if value is not None}
        )
        if bool(options.tls_cert) != bool(options.tls_key):
            raise StartRefused("--tls-cert and --tls-key belong together. Name both.")
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)

    def run(report: Reporter) -> int:
        from services.projects.launch import run_server  # aiohttp: other commands need not load it

        return run_server(folder, options, report)

    terminal = ServerTerminal(detached=detach)
    sys.exit(run_detached(run, terminal) if detach else run(terminal))


@click.command()
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=_STOP_S, show_default=True, help="Seconds to wait."
)
@click.pass_obj
def stop(folder: ServerFolder, timeout: float) -> None:
    """Stop the server and all its projects.

    \b
    Exit codes: 0 nothing runs any more, 1 it still runs after the timeout
    """
    state = running_server_state(folder)
    if state is None and not is_locked(folder.lock):
        click.echo(f"No server of projects runs in {folder.path}.")
        return
    began = time.monotonic()
    pid = state.pid if state is not None else int(folder.lock.read_text() or 0)
    os.kill(pid, signal.SIGTERM)
    while is_locked(folder.lock):
        if time.monotonic() - began > timeout:
            refuse(
                f"It still runs after {timeout:.0f} s (process {pid}). Wait longer with --timeout.", code=1
            )
        time.sleep(_PAUSE_S)  # between two looks at its state
    click.echo(f"Stopped after {time.monotonic() - began:.1f} s.")


def _networks(texts: tuple[str, ...]) -> list[str]:
    """Return networks of proxies. Raises: StartRefused for what is none."""
    named = [text for text in texts if text != "none"]
    try:
        return [str(network) for network in read_networks(named)]
    except ValueError as error:
        raise StartRefused(f"--trusted-proxy: {error}. Name a network as 10.0.0.0/8.") from None
