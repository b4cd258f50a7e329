"""`headwater functions`: hosted functions, from the first file to the running version."""

import contextlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from schemas.functions.deployments import FUNCTION_NAME
from schemas.settings.dotenv import parse_dotenv
from schemas.system_errors import system_error_text
from services.cli.bundle import BundleError, FunctionsFolder, folder_of, make_bundle
from services.cli.function_types import write_types
from services.cli.options import data_folder, platform_options, read_env_file, refuse
from services.cli.output import json_text
from services.cli.remote import Remote, remote_of, remote_options
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import CONFIG, find_root, load_project

_ADMIN = "/functions/v1/_internal"
_COLOURS = {"error": "red", "warning": "yellow", "debug": "bright_black"}
_AGAIN_S = 0.5
_names = click.argument("names", nargs=-1, metavar="[NAME]...")


@click.group()
def functions() -> None:
    """Write, run, deploy and watch hosted functions.

    Functions in supabase/functions of a platform's own project are run as they are saved; `deploy` brings them to a
    platform elsewhere, or fixes a version here.
    """


@functions.command()
@platform_options
@click.argument("name")
@click.option("--no-verify-jwt", is_flag=True, help="Callers need no token.")
def new(data: Path | None, project: Path | None, name: str, no_verify_jwt: bool) -> None:
    """Create the folder of a new function.

    Makes index.ts and deno.json in supabase/functions/NAME, and enters [functions.NAME] in config.toml if that is there.

    If the platform of this folder runs, the command ends when the function answers.

    \b
    Exit codes: 0 created, 1 created and it does not answer, 2 it is there already, or has a name that none can have
    """
    if not FUNCTION_NAME.fullmatch(name):
        refuse(f"A function cannot be named {name!r}: letters, digits, - and _, a letter first.", code=2)
    root = find_root(project)
    folder = root / CONFIG.parent / "functions" / name
    if folder.exists():
        refuse(f"{folder} is already there and was left as it is.", code=2)
    is_ours = False
    try:
        folder.mkdir(parents=True)
        is_ours = True
        _create(folder, root / CONFIG, name, verify_jwt=not no_verify_jwt)
    except (OSError, UnicodeDecodeError) as error:
        if is_ours:  # or the same command would be refused
            shutil.rmtree(folder, ignore_errors=True)
        reason = system_error_text(error) if isinstance(error, OSError) else "config.toml is not UTF-8"
        refuse(f"The function could not be created: {reason}", code=2)
    _show_address(data, project, root, name)


def _create(folder: Path, config: Path, name: str, *, verify_jwt: bool) -> None:
    """Create the files of a function in its empty folder, and enter it in config.toml where that is there. Raises: OSError, UnicodeDecodeError."""
    for file in ("index.ts", "deno.json"):
        text = resources.files("services.cli").joinpath("function", file).read_text()
        (folder / file).write_text(text.replace("NAME", name))
        click.echo(f"Created {folder / file}")
    section = rf"^\s*\[functions\.\"?{re.escape(name)}\"?\]"
    if config.is_file() and not re.search(section, config.read_text(encoding="utf-8"), re.M):
        with config.open("ab", buffering=0) as file_of_config:
            file_of_config.write(f"\n[functions.{name}]\nverify_jwt = {str(verify_jwt).lower()}\n".encode())
        click.echo(f"Entered [functions.{name}] in {config}")


def _show_address(data: Path | None, project: Path | None, root: Path, name: str) -> None:
    """Wait until the platform that runs this folder answers with the new function, and print its address."""
    state = running_state(data_folder(data, project))
    if state is None or Path(state.project).resolve() != root.resolve() or "API_URL" not in state.values:
        click.echo(f"Start the platform with `headwater start`; it answers at /functions/v1/{name}.")
        return
    remote = remote_of(data, project, None, None)
    if not remote.wait_for(f"/functions/v1/{name}"):
        refuse(f"{name} does not answer. Read why: `headwater functions logs {name}`.", code=1)
    click.echo(f"It answers at {remote.url}/functions/v1/{name}.")


@functions.command()
@platform_options
@click.option(
    "--env-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Variables of all functions.",
)
@click.option("--no-verify-jwt", is_flag=True, help="No function asks for a token, as long as this runs.")
def serve(data: Path | None, project: Path | None, env_file: Path | None, no_verify_jwt: bool) -> None:
    """Run the functions of this project and show what they print, until Ctrl-C.

    The platform of this project runs them, each as it was last saved; if it does not run, it is started, and stopped at
    the end. Variables and checks named here hold as long as this command runs.

    \b
    Exit codes: 0 ended by Ctrl-C, 1 the platform does not come up
    """
    env: dict[str, str] = {}
    if env_file is not None:
        env, warnings = parse_dotenv(read_env_file(env_file), str(env_file))
        for warning in warnings:
            click.secho(warning, fg="yellow", err=True)
    session = {"env": env, "verify_jwt": False if no_verify_jwt else None}
    with _running(data, project), contextlib.suppress(KeyboardInterrupt):
        remote = remote_of(data, project, None, None)
        remote.ask("GET", f"{_ADMIN}/functions")  # starts a worker that waits for its first request
        click.echo(f"Functions are at {remote.url}/functions/v1/NAME. Press Ctrl-C to end.")
        while True:
            _show(remote, "POST", f"{_ADMIN}/session", session)
            time.sleep(_AGAIN_S)


@functions.command()
@remote_options
@_names
@click.option("--rollback", is_flag=True, help="Run the version before the present one again.")
@click.option("--version", "number", type=click.IntRange(1), help="With --rollback: the version to run.")
def deploy(
    data: Path | None, project: Path | None, url: str | None, key: str | None, names: tuple[str, ...],
    rollback: bool, number: int | None,
) -> None:  # fmt: skip
    """Deploy functions of this project, all of them unless some are named.

    Each becomes a new version: its folder, _shared, the import maps, its static files and its settings. It runs when the
    command ends; requests that are under way end in the version they began in. .env files stay here: see
    `headwater secrets`.

    \b
    Exit codes: 0 all deployed, 1 one was refused, 2 the function does not exist
    """
    remote = remote_of(data, project, url, key)
    if rollback:
        if not names:
            refuse("Name the functions that shall be rolled back.", code=2)
        for name in names:
            _print_deployment(
                remote.ask("POST", f"{_path(name)}/rollback", {"version": number} if number else {})
            )
        return
    folder = _folder(project)
    chosen = names or tuple(folder.names())
    if not chosen:
        refuse(f"There are no functions in {folder.root}.", code=2)
    try:
        bundles = {name: make_bundle(folder, name) for name in chosen}
    except (BundleError, OSError) as error:
        refuse(str(error), code=2)
    for name, bundle in bundles.items():
        _print_deployment(remote.ask("PUT", _path(name), bundle, content="application/gzip"))


@functions.command()
@platform_options
def types(data: Path | None, project: Path | None) -> None:
    """Write the types of headwater:jobs for editors and `deno check`.

    Makes _headwater/jobs.d.ts in the folder of functions and enters it in the imports of each deno.json there; one for
    functions without their own is created. Run it again after an upgrade.
    """
    try:
        for line in write_types(_folder(project)):
            click.echo(line)
    except OSError as error:
        refuse(f"The types could not be written: {system_error_text(error)}", code=2)


@functions.command("list")
@remote_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
@click.argument("name", required=False)
def listing(
    data: Path | None, project: Path | None, url: str | None, key: str | None, form: str, name: str | None
) -> None:
    """List the functions that are run; of one that is named, its deployed versions.

    \b
    Exit codes: 0 listed, 1 nothing runs or it refused
    """
    rows = remote_of(data, project, url, key).ask("GET", _path(name) if name else f"{_ADMIN}/functions")
    if form == "json":
        click.echo(json_text(rows))
    elif name:
        if not rows:
            click.echo(f"No version of {name} is deployed.", err=True)
        for row in rows:
            mark = "*" if row["is_active"] else " "
            click.echo(
                f"{mark} {row['number']:>4}  {_time(row['at'])}  {row['size']:>9}  {row['sha256'][:12]}"
            )
    else:
        for row in rows:
            version = f"v{row['version']}" if row["version"] else "-"
            since = _time(row["at"]) if row["at"] else "-"
            tokens = "" if row["verify_jwt"] else "  no token"
            clock = f"  {row['schedule']}" if row["schedule"] else ""
            queue = f"  queue {row['queue']['queue']}" if row.get("queue") else ""
            click.echo(f"{row['name']:<24} {version:<6} {row['status']:<9} {since}{tokens}{clock}{queue}")


@functions.command()
@remote_options
@click.argument("name")
def delete(data: Path | None, project: Path | None, url: str | None, key: str | None, name: str) -> None:
    """Delete a deployed function with all its versions.

    \b
    Exit codes: 0 deleted, 1 nothing runs, or it was not deployed
    """
    result = remote_of(data, project, url, key).ask("DELETE", _path(name))
    rest = " The one in the project's folder is run again." if result["is_local"] else ""
    click.echo(f"Deleted {name}.{rest}")


@functions.command()
@remote_options
@click.argument("name", required=False)
@click.option(
    "-n", "--lines", type=click.IntRange(0, 10_000), default=50, show_default=True, help="Last lines."
)
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is printed, until Ctrl-C.")
def logs(
    data: Path | None, project: Path | None, url: str | None, key: str | None, name: str | None, lines: int,
    follow: bool,
) -> None:  # fmt: skip
    """Show what functions printed, and what became of their processes.

    \b
    Exit codes: 0 shown, 1 nothing runs or it refused
    """
    remote = remote_of(data, project, url, key)
    remote.ask("GET", f"{_ADMIN}/functions")
    parameters = {"lines": lines, **({"function": name} if name else {}), **({"follow": 1} if follow else {})}
    with contextlib.suppress(KeyboardInterrupt):
        _show(remote, "GET", f"{_ADMIN}/logs?{urlencode(parameters)}")
        while follow:
            time.sleep(_AGAIN_S)
            _show(remote, "GET", f"{_ADMIN}/logs?{urlencode({**parameters, 'lines': 0})}")


def _show(remote: Remote, method: str, path: str, body: object = None) -> None:
    """Print lines until the response ends, or the connection is lost."""
    try:
        for line in remote.lines(method, path, body):
            _show_line(line)
    except OSError as error:
        if isinstance(error, ConnectionRefusedError):
            refuse("The platform is gone.", code=1)


def _show_line(line: dict[str, Any]) -> None:
    at = time.strftime("%H:%M:%S", time.localtime(line["at"]))
    text = line["text"] if line["event"] == "log" else f"[{line['event']}] {line['text']}"
    click.secho(f"{at} {line['function']:<16} | {text}", fg=_COLOURS.get(line["level"]))


@contextlib.contextmanager
def _running(data: Path | None, project: Path | None) -> Iterator[None]:
    """Start the platform if it does not run, and stop it again at the end."""
    folder = data_folder(data, project)
    if running_state(folder) is not None:
        yield
        return
    here = ["--data", str(folder.path), *(["--project", str(project)] if project else [])]
    program = [sys.executable, "-P", "-m", "services.cli.main"]
    if subprocess.run([*program, "start", "--detach", *here], check=False).returncode:  # noqa: S603 - ourselves
        refuse("The platform did not start.", code=1)
    try:
        yield
    finally:
        subprocess.run([*program, "stop", "--data", str(folder.path)], check=False)  # noqa: S603 - ourselves


def _folder(project: Path | None) -> FunctionsFolder:
    try:
        return folder_of(load_project(find_root(project), None, None, {}))
    except StartRefused as error:
        refuse(str(error), code=2)


def _print_deployment(deployment: dict[str, Any]) -> None:
    for warning in deployment.get("warnings") or []:
        click.secho(f"{deployment['name']}: {warning}", fg="yellow", err=True)
    click.echo(f"{deployment['name']} runs in version {deployment['version']['number']}.")


def _path(name: str) -> str:
    return f"{_ADMIN}/functions/{quote(name, safe='')}"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
