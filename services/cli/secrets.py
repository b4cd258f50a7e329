"""`headwater secrets`: variables of all functions that are in no file, stored encrypted by the platform."""

import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from schemas.functions.deployments import secret_fault
from schemas.settings.dotenv import parse_dotenv
from services.cli.options import data_folder, read_env_file, refuse
from services.cli.output import json_text
from services.cli.remote import NoWorker, Remote, remote_of, remote_options
from services.cli.stored_secrets import do_in_store
from services.supervisor.data_folder.state import running_state

_PATH = "/functions/v1/_internal/secrets"
_METHODS = {"set": "PUT", "unset": "DELETE", "list": "GET"}
_AWAKE_S, _ELSEWHERE_S = 30.0, 3.0
"""Seconds that a worker of this platform, and one of another machine, may take to start."""


@click.group()
def secrets() -> None:
    """Set, list and unset the secrets of functions.

    They are variables of all functions and win over those of .env files. The platform keeps them encrypted with its JWT
    secret: with another one they must be set again. Names must not begin with SUPABASE_.

    Where no functions worker answers, those of a platform on this machine are put into its store all the same.
    """


@secrets.command("set")
@remote_options
@click.argument("pairs", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "--env-file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="A file of NAME=VALUE lines; - reads standard input, which leaves no trace in the shell's history.",
)  # fmt: skip
def set_(
    data: Path | None, project: Path | None, url: str | None, key: str | None, pairs: tuple[str, ...],
    env_file: Path | None,
) -> None:  # fmt: skip
    """Set secrets; functions have them from their next start on, which is at once where they run.

    \b
    Exit codes: 0 set, 1 refused or no platform runs, 2 an invalid name or value
    """
    values: dict[str, str] = {}
    if env_file is not None:
        text = read_env_file(env_file)
        values, warnings = parse_dotenv(text, str(env_file))
        for warning in warnings:
            click.secho(warning, fg="yellow", err=True)
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            refuse(f"{name!r} is not NAME=VALUE.", code=2)
        values[name] = value
    if not values:
        refuse("Give NAME=VALUE, or --env-file.", code=2)
    for name, value in values.items():
        if fault := secret_fault(name, value):
            refuse(f"{fault[:1].upper()}{fault[1:]}.", code=2)
    _, note = _SecretStore(data, project, url, key).do("set", values)
    click.echo(f"Set {', '.join(sorted(values))}.{note}")


@secrets.command("list")
@remote_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def listing(data: Path | None, project: Path | None, url: str | None, key: str | None, form: str) -> None:
    """List the secrets by name, with a digest of each that tells whether two are equal.

    \b
    Exit codes: 0 listed, 1 refused or no platform runs
    """
    rows, _ = _SecretStore(data, project, url, key).do("list")
    if form == "json":
        click.echo(json_text(rows))
        return
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["at"]))
        click.echo(f"{row['name']:<40} {row['digest'][:12]}  {at}")


@secrets.command()
@remote_options
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def unset(
    data: Path | None, project: Path | None, url: str | None, key: str | None, names: tuple[str, ...]
) -> None:
    """Unset secrets. Those that are not set are fine.

    \b
    Exit codes: 0 unset, 1 refused or no platform runs
    """
    _, note = _SecretStore(data, project, url, key).do("unset", list(names))
    click.echo(f"Unset {', '.join(names)}.{note}")


@dataclass(frozen=True, slots=True)
class _SecretStore:
    """The platform of the options: its worker, or its blob store while no worker answers."""

    data: Path | None
    project: Path | None
    url: str | None
    key: str | None = field(repr=False)

    def do(self, task: str, body: object = None) -> tuple[Any, str]:
        """Run a task; return its result, and a sentence for the user that begins with a blank."""
        if self.url:
            return self._elsewhere(task, body), ""
        state = running_state(data_folder(self.data, self.project))
        if state is not None and "API_URL" in state.values:
            is_here = any(child.name == "functions" for child in state.children)
            remote = Remote(state.values["API_URL"], state.values["SERVICE_ROLE_KEY"])
            with contextlib.suppress(NoWorker):
                awake_s = _AWAKE_S if is_here else _ELSEWHERE_S
                return remote.try_ask(_METHODS[task], _PATH, body, awake_s=awake_s), ""
        result, note = do_in_store(self.data, self.project, task, body)
        return result, f" {note}"

    def _elsewhere(self, task: str, body: object) -> Any:
        try:
            return remote_of(None, None, self.url, self.key).try_ask(_METHODS[task], _PATH, body)
        except NoWorker as error:
            refuse(
                f"No functions worker answers at {self.url}, and its store can only be reached from there ({error}). "
                "Start one there (`headwater start`, with `edge_runtime.enabled = true`), or run this command there "
                "without --url: then it needs none.",
                code=1,
            )
