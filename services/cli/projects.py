"""`headwater projects`: several projects on one server, behind one address."""

import os
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from services.cli.doctor import show_finding
from services.cli.options import refuse
from services.cli.output import Terminal, env_lines, json_text, table
from services.doctor.finding import FindingLevel
from services.middleware.limits import read_networks
from services.projects.checks import look_at_server
from services.projects.control import ask_server
from services.projects.keys import ensure_keys, read_project
from services.projects.model import ControlReply, ControlRequest, ProjectLimits, ProjectRecord
from services.projects.names import checked_project_name, checked_url, path_url, project_url, server_url
from services.projects.registry import (
    ServerFolder,
    add_project,
    create_server_folder,
    data_folder_of,
    find_project,
    find_server_folder,
    forget_project,
    read_front,
    read_projects,
    running_server_state,
    write_project,
)
from services.supervisor.api_keys import keys_of
from services.supervisor.branches.drafts import remove_folder
from services.supervisor.branches.listing import disk_use, list_branches
from services.supervisor.data_folder.folder import DataFolder, is_locked
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartFailed, StartRefused, SupervisorError
from services.supervisor.processes.detach import run_detached
from services.supervisor.report import Reporter

_MIB = 1024 * 1024
_STOP_S, _PAUSE_S = 180.0, 0.05
_FOLDER = click.Path(file_okay=False, path_type=Path)
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


@click.group()
@click.option(
    "--root",
    type=_FOLDER,
    envvar="HEADWATER_PROJECTS",
    metavar="DIR",
    help="Folder of the server.  [default: .headwater-projects in the current folder, or in one above]",
)
@click.pass_context
def projects(context: click.Context, root: Path | None) -> None:
    """Several projects on one server, behind one address. Idle ones sleep, and wake at the first request.

    \b
    headwater projects add shop
    headwater projects start --detach
    headwater projects status shop

    Each project has its own database, keys, passwords and limits (docs/projects.md).
    """
    context.obj = find_server_folder(root)


_host = click.option(
    "--host-name",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Host name of the project beside NAME.<host of the server>; repeatable. `none` removes all.",
)
_max_requests = click.option(
    "--max-requests",
    type=click.IntRange(min=0),
    help="Requests at the same time; 0: no limit.  [default: 200]",
)
_max_sockets = click.option(
    "--max-sockets", type=click.IntRange(min=0), help="Open WebSockets; 0: no limit.  [default: 1000]"
)
_disk_limit = click.option(
    "--disk-limit",
    type=click.IntRange(min=0),
    metavar="MB",
    help="Size of its data from which writes are refused; 0: no limit.  [default: 0]",
)
_sleep_after = click.option(
    "--sleep-after",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Time without a request after which it sleeps; 0: never.  [default: 300]",
)


@projects.command()
@click.argument("name")
@click.option(
    "--folder", "source", type=_FOLDER, metavar="DIR",
    help="Folder of an existing project; its data folder is .headwater in it.  [default: a new folder in the server's]",
)  # fmt: skip
@_host
@_max_requests
@_max_sockets
@_disk_limit
@_sleep_after
@click.pass_obj
def add(
    folder: ServerFolder,
    name: str,
    source: Path | None,
    hosts: tuple[str, ...],
    max_requests: int | None,
    max_sockets: int | None,
    disk_limit: int | None,
    sleep_after: float | None,
) -> None:
    """Add the project NAME, with random keys. A running server serves it at once; it starts with its first request.

    \b
    Exit codes: 0 added, 2 refused: the name, a host or the folder is taken or cannot be used
    """
    try:
        checked_project_name(name)
        place = Path(os.path.abspath(source)) if source is not None else folder.project(name)
        limits = _limits(ProjectLimits(), max_requests, max_sockets, disk_limit, sleep_after)
        url = server_url(read_front(folder))
        record = add_project(folder, ProjectRecord(name, str(place), 0.0, _named_hosts(hosts), limits), url)
        try:
            made = ensure_keys(place)
        except (SupervisorError, OSError):
            forget_project(folder, record)
            raise
        _request_server(folder, ControlRequest("reload"))
    except OSError as error:
        refuse(f"{error.filename or folder.path} cannot be written: {error.strerror}", code=2)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(f"Added {name}. Folder: {place}")
    if made:
        click.echo(f"Its keys are in {place / '.env'}, and shown by `headwater projects status {name}`.")
    click.echo(table(_addresses(record, url)))
    if running_server_state(folder) is None:
        click.echo("The server does not run. Start it: `headwater projects start`")


@projects.command("set")
@click.argument("name")
@_host
@_max_requests
@_max_sockets
@_disk_limit
@_sleep_after
@click.pass_obj
def change(
    folder: ServerFolder,
    name: str,
    hosts: tuple[str, ...],
    max_requests: int | None,
    max_sockets: int | None,
    disk_limit: int | None,
    sleep_after: float | None,
) -> None:
    """Change hosts or limits of the project NAME. Limits apply at once; another first host name stops it until its next request."""
    try:
        record = find_project(folder, name)
        limits = _limits(record.limits, max_requests, max_sockets, disk_limit, sleep_after)
        names = _named_hosts(hosts) if hosts else record.hosts
        record = msgspec.structs.replace(record, hosts=names, limits=limits)
        url = server_url(read_front(folder))
        record = write_project(folder, record, url)
        _request_server(folder, ControlRequest("reload"))
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(table(_addresses(record, url) | _limit_texts(record.limits)))


@projects.command("list")
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
@click.pass_obj
def listing(folder: ServerFolder, form: str) -> None:
    """List the projects, and what they do."""
    try:
        records, url = read_projects(folder), server_url(read_front(folder))
        statuses = {
            status.name: status for status in _request_server(folder, ControlRequest("list")).projects
        }
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    rows = [
        {
            "name": record.name,
            "url": project_url(record, url),
            "path_url": path_url(record, url),
            "folder": record.folder,
            "limits": msgspec.to_builtins(record.limits),
            "status": msgspec.to_builtins(statuses[record.name]) if record.name in statuses else None,
        }
        for record in records
    ]
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    for record in records:
        status = statuses.get(record.name)
        state = status.state if status else "running" if is_locked(data_folder_of(record).lock) else "stopped"
        reason = f"  ({status.reason})" if status and status.reason else ""
        click.echo(f"{record.name:<24} {state:<9} {project_url(record, url)}{reason}")
    if not records:
        click.echo("There are no projects. `headwater projects add NAME` makes one.")


@projects.command()
@click.argument("name")
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "env", "json"]), default="pretty", show_default=True,
    help="Form of the answer: for people, for .env files, or JSON.",
)  # fmt: skip
@click.pass_obj
def status(folder: ServerFolder, name: str, form: str) -> None:
    """Show addresses, keys, limits and state of the project NAME, awake or not.

    \b
    Exit codes: 0 shown, 2 there is no such project
    """
    try:
        record, url = find_project(folder, name), server_url(read_front(folder))
        keys = keys_of(read_project(Path(record.folder)).settings.auth)
        statuses = _request_server(folder, ControlRequest("list")).projects
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    data = data_folder_of(record)
    state = running_state(data)
    values = _addresses(record, url) | {
        "PUBLISHABLE_KEY": keys.publishable_key,
        "SECRET_KEY": keys.secret_key,
        "JWT_SECRET": keys.jwt_secret,
        "ANON_KEY": keys.anon_key,
        "SERVICE_ROLE_KEY": keys.service_role_key,
    }
    if state is not None and "DB_URL" in state.values:
        values["DB_URL"] = state.values["DB_URL"]
    if form == "env":
        click.echo(env_lines(values))
        return
    if form == "json":
        click.echo(json_text(values))
        return
    now = next((status for status in statuses if status.name == name), None)
    own, shared = disk_use(data)
    facts = {"State": now.state if now else "running" if state else "stopped"}
    if now is not None:
        facts["Now"] = f"{now.requests} requests, {now.sockets} WebSockets; {now.refused} refused by limits"
        facts |= {"Reason": now.reason} if now.reason else {}
        facts |= {"Wakes for a job": _moment(now.due_at)} if now.due_at else {}
        facts |= {"Last wake": f"{now.wake_s:.1f} s"} if now.wake_s else {}
    facts |= {"Folder": record.folder, "Disk": f"{(own + shared) // _MIB} MB"}
    click.echo(table(values | facts | _limit_texts(record.limits)))


@projects.command()
@click.argument("name")
@click.option("--delete-data", is_flag=True, help="Delete its data folder, too: database, objects, branches.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(folder: ServerFolder, name: str, delete_data: bool, yes: bool) -> None:
    """Stop the project NAME and serve it no more. Its data stays, unless --delete-data is given.

    Its folder, with `.env` and migrations, stays in every case; `headwater projects add NAME` brings it back with the same keys.

    \b
    Exit codes: 0 removed, 1 it could not be stopped, or you said no; 2 there is no such project
    """
    try:
        record = find_project(folder, name)
        data = data_folder_of(record)
        if delete_data and (running := [branch.name for branch in list_branches(data) if branch.is_running]):
            raise StartRefused(f"Branches of {name} run: {', '.join(running)}. Stop them first.")
        if not yes:
            own, shared = disk_use(data)
            what = (
                f"Delete {(own + shared) // _MIB} MB in {data.path}: database, objects, branches"
                if delete_data
                else f"Its data stays in {data.path}"
            )
            click.confirm(f"Remove the project {name}? {what}.", abort=True)
        _request_server(folder, ControlRequest("release", name))
        _stop_platform(data.path, data.lock)
        forget_project(folder, record)
        _request_server(folder, ControlRequest("reload"))
        if delete_data:
            remove_folder(data)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    click.echo(f"Removed {name}." + ("" if delete_data else f" Its data is in {data.path}."))


@projects.command()
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


@projects.command()
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


@projects.command()
@click.argument("name")
@click.pass_obj
def wake(folder: ServerFolder, name: str) -> None:
    """Wake the project NAME, and wait until it answers."""
    _command(folder, "wake", name)


@projects.command()
@click.argument("name")
@click.pass_obj
def sleep(folder: ServerFolder, name: str) -> None:
    """Put the project NAME to sleep now, whatever it does. Its next request wakes it."""
    _command(folder, "sleep", name)


@projects.command()
@click.pass_obj
def doctor(folder: ServerFolder) -> None:
    """Look for what is wrong with the server and its projects, and print how to fix it.

    One project as a platform: `headwater doctor --project FOLDER`, with the folder that `headwater projects status` shows.

    \b
    Exit codes: 0 nothing is wrong, 1 something is, 2 there are only warnings
    """
    try:
        findings = list(look_at_server(folder))
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    for finding in findings:
        show_finding(finding)
    levels = {finding.level for finding in findings}
    sys.exit(1 if FindingLevel.ERROR in levels else 2 if FindingLevel.WARNING in levels else 0)


def _command(folder: ServerFolder, action: str, name: str) -> None:
    """Let the running server do something with a project, and print what the project does then."""
    try:
        find_project(folder, name)
        if running_server_state(folder) is None:
            raise StartRefused(
                f"No server of projects runs in {folder.path}. Start it with `headwater projects start`."
            )
        statuses = _request_server(folder, ControlRequest(action, name)).projects
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    for status in statuses:
        if status.name == name:
            click.echo(f"{name}: {status.state}")


def _request_server(folder: ServerFolder, request: ControlRequest) -> ControlReply:
    """Ask the server if it runs. Raises: StartFailed if it does not do what is asked."""
    state = running_server_state(folder)
    if state is None:
        return ControlReply()
    reply = ask_server(state, request)
    if reply.error:
        raise StartFailed(reply.error)
    return reply


def _stop_platform(data: Path, lock: Path) -> None:
    """Stop a platform that runs without the server. Raises: StartFailed."""
    if not is_locked(lock):
        return
    state = running_state(DataFolder(data))
    if state is not None:
        os.kill(state.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while is_locked(lock):
        if time.monotonic() > deadline:
            raise StartFailed(
                f"The platform in {data} still runs after {_STOP_S:.0f} s. Nothing was removed."
            )
        time.sleep(_PAUSE_S)  # between two looks at its state


def _limits(
    limits: ProjectLimits, requests: int | None, sockets: int | None, disk: int | None, sleep: float | None
) -> ProjectLimits:
    given = {"requests": requests, "sockets": sockets, "disk_mib": disk, "sleep_after_s": sleep}
    return msgspec.structs.replace(
        limits, **{name: value for name, value in given.items() if value is not None}
    )


def _named_hosts(hosts: tuple[str, ...]) -> list[str]:
    return [host for host in hosts if host != "none"]


def _networks(texts: tuple[str, ...]) -> list[str]:
    """Return networks of proxies. Raises: StartRefused for what is none."""
    named = [text for text in texts if text != "none"]
    try:
        return [str(network) for network in read_networks(named)]
    except ValueError as error:
        raise StartRefused(f"--trusted-proxy: {error}. Name a network as 10.0.0.0/8.") from None


def _addresses(record: ProjectRecord, url: str) -> dict[str, str]:
    api = project_url(record, url)
    return {"API_URL": api, "STUDIO_URL": f"{api}/_/", "PATH_URL": path_url(record, url)}


def _limit_texts(limits: ProjectLimits) -> dict[str, str]:
    def text(value: float, unit: str = "") -> str:
        return f"{value:g}{unit}" if value else "no limit"

    return {
        "Requests at once": text(limits.requests),
        "WebSockets": text(limits.sockets),
        "Disk limit": text(limits.disk_mib, " MB"),
        "Sleeps after": text(limits.sleep_after_s, " s") if limits.sleep_after_s else "never",
    }


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
