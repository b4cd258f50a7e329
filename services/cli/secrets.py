"""`headwater secrets`: variables of all functions that stand in no file, kept encrypted by the platform."""

import sys
import time
from pathlib import Path

import click

from schemas.deployments import secret_fault
from schemas.dotenv import parse_dotenv
from services.cli.options import refuse
from services.cli.remote import remote_of, remote_options
from services.cli.show import json_text

_PATH = "/functions/v1/_internal/secrets"


@click.group()
def secrets() -> None:
    """Set, list and unset the secrets of functions.

    They are variables of all functions and win over those of .env files. The platform keeps them encrypted with its JWT
    secret: with another one they must be set again. Names must not begin with SUPABASE_.
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
    """Set secrets; functions have them from their next start on, which is at once.

    \b
    Exit codes: 0 set, 1 nothing runs or it refused, 2 a name or a value that none can have
    """
    values: dict[str, str] = {}
    if env_file is not None:
        text = sys.stdin.read() if str(env_file) == "-" else env_file.read_text(errors="replace")
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
    remote_of(data, project, url, key).ask("PUT", _PATH, values)
    click.echo(f"Set {', '.join(sorted(values))}.")


@secrets.command("list")
@remote_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def listing(data: Path | None, project: Path | None, url: str | None, key: str | None, form: str) -> None:
    """List the secrets by name, with a digest of each that tells whether two are equal.

    \b
    Exit codes: 0 listed, 1 nothing runs or it refused
    """
    found = remote_of(data, project, url, key).ask("GET", _PATH)
    if form == "json":
        click.echo(json_text(found))
        return
    for each in found:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(each["at"]))
        click.echo(f"{each['name']:<40} {each['digest'][:12]}  {at}")


@secrets.command()
@remote_options
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def unset(
    data: Path | None, project: Path | None, url: str | None, key: str | None, names: tuple[str, ...]
) -> None:
    """Unset secrets. Those that are not set are fine.

    \b
    Exit codes: 0 unset, 1 nothing runs or it refused
    """
    remote_of(data, project, url, key).ask("DELETE", _PATH, list(names))
    click.echo(f"Unset {', '.join(names)}.")
