"""`headwater profile`: the file with which the official command line works on this platform, and how to use it."""

import os
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import click

from services.cli.admin import operate
from services.cli.options import platform_options, refuse, running_platform

_FILE = "supabase-profile.yaml"
_NOWHERE = "headwater.invalid"
"""A host below which no name resolves (RFC 6761, 6.4), so that the command line takes the address that the platform tells it."""
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}(\.[A-Za-z0-9][A-Za-z0-9-]{0,62})*")


@click.command()
@platform_options
@click.option(
    "--url", help="Address of the gateway for the official command line.  [default: API_URL of `status`]"
)
@click.option(
    "--project-host",
    default=_NOWHERE,
    metavar="HOST",
    help="Where https://REF.HOST is this platform and db.REF.HOST:5432 its database. Only `supabase storage` needs it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"File to write.  [default: {_FILE} in the data folder]",
)
def profile(
    data: Path | None, project: Path | None, url: str | None, project_host: str, output: Path | None
) -> None:
    """Write the profile file of this platform for the official command line `supabase`, and print what its shell needs.

    eval "$(headwater profile)" does it: the variables name the profile, the project, and a new token of a developer that lasts
    30 days.

    \b
    Exit codes: 0 written, 1 no platform runs or the file cannot be written, 2 an address is not one
    """
    folder, state = running_platform(data, project)
    address = (url or state.values.get("API_URL", "")).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path:
        refuse(f"{address!r} is not the address of a gateway, as in https://api.example.org", code=2)
    if not _HOST.fullmatch(project_host):
        refuse(f"{project_host!r} is not the name of a host", code=2)
    ref = operate(data, project, "project.describe")["ref"]
    path = (output or folder.path / _FILE).absolute()
    try:
        path.write_text(_profile(ref, address, project_host))
    except OSError as error:
        refuse(f"{path} cannot be written: {error.strerror}", code=1)
    _print_variables(path, ref, folder.path)


def _profile(ref: str, address: str, project_host: str) -> str:
    """Return the text of a profile. The command line stores a token under its name, so that each platform needs its own (pure)."""
    return (
        f"name: headwater-{ref}\n"
        f"api_url: {address}\n"
        f"dashboard_url: {address}\n"
        f"docs_url: {address}\n"
        f"project_host: {project_host}\n"
    )


def _print_variables(path: Path, ref: str, folder: Path) -> None:
    data = "" if os.environ.get("HEADWATER_DATA") else f" --data {shlex.quote(str(folder))}"
    token = f"$(headwater admin token supabase --rights developer --write{data})"
    click.echo(f"Wrote {path}", err=True)
    click.echo(f"export SUPABASE_PROFILE={shlex.quote(str(path))}")
    click.echo(f"export SUPABASE_PROJECT_ID={ref}")
    click.echo(f"export SUPABASE_ACCESS_TOKEN={token}")
