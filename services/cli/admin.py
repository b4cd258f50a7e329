"""`headwater admin`: administrators and their tokens, for whoever runs the platform on this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from services.cli.options import platform_options, refuse, running_platform
from services.cli.output import json_text
from services.supervisor.errors import SupervisorError
from services.supervisor.first_link import FIRST_OWNER, sign_in_address
from services.supervisor.project.work import project_of_state, work_environment

_RIGHTS = click.Choice(["owner", "developer", "reader"])
_DAY_S = 86400.0


@click.group()
def admin() -> None:
    """Add, list and remove administrators, and make tokens for programs.

    An owner may do everything, a developer all but administrators and keys, a reader only look. Each change is in the
    audit log. The interface is /management/v1 (docs/management.md).
    """


@admin.command("list")
@platform_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def listing(data: Path | None, project: Path | None, form: str) -> None:
    """List the administrators."""
    rows = operate(data, project, "administrators.list")
    if form == "json":
        click.echo(json_text(rows))
        return
    for row in rows:
        state = "disabled" if row["disabled_at"] else f"last sign-in {row['signed_in_at'] or 'never'}"
        click.echo(f"{row['email']:<40} {row['rights']:<10} {state}")
    if not rows:
        click.echo("There are no administrators yet. `headwater admin add EMAIL` adds the first one.")


@admin.command()
@platform_options
@click.argument("email")
@click.option("--rights", type=_RIGHTS, default="owner", show_default=True)
def add(data: Path | None, project: Path | None, email: str, rights: str) -> None:
    """Add an administrator, and print the secret by which they sign in the first time."""
    added = operate(data, project, "administrators.add", email=email, rights=rights)
    click.echo(f"Added {email} as {rights}.")
    _print_link(data, project, added["link"])


@admin.command()
@platform_options
@click.argument("email", required=False)
def link(data: Path | None, project: Path | None, email: str | None) -> None:
    """Print an address that signs in to the dashboard once, within 15 minutes.

    Without EMAIL it is that of the first owner, who is added if there is no administrator. A second factor stays needed.
    """
    rows = operate(data, project, "administrators.list")
    if not rows and email is None:
        added = operate(data, project, "administrators.add", email=FIRST_OWNER, rights="owner")
        _print_link(data, project, added["link"])
        return
    owners = [row["id"] for row in rows if row["rights"] == "owner" and not row["disabled_at"]]
    if email is None and not owners:
        refuse(
            "No administrator who is enabled is an owner. Name one with EMAIL, or add an owner: `headwater admin add EMAIL`.",
            code=1,
        )
    id_of = owners[0] if email is None else _id_in(rows, email)
    _print_link(
        data, project, operate(data, project, "administrators.reset", id=id_of, factors=False)["link"]
    )


@admin.command()
@platform_options
@click.argument("email")
@click.option(
    "--keep-factors", is_flag=True, help="Do not remove second factors: the link is followed by one."
)
def reset(data: Path | None, project: Path | None, email: str, keep_factors: bool) -> None:
    """Print a secret by which an administrator who lost the password signs in.

    Second factors are removed and sessions end, unless --keep-factors says otherwise. It works after too many failed sign-ins.
    """
    id_of = _id_of(data, project, email)
    reset_to = operate(data, project, "administrators.reset", id=id_of, factors=not keep_factors)
    if not keep_factors:
        click.echo(f"Second factors of {email} are removed, and their sessions have ended.", err=True)
    _print_link(data, project, reset_to["link"])


@admin.command()
@platform_options
@click.argument("email")
def remove(data: Path | None, project: Path | None, email: str) -> None:
    """Remove an administrator, with their sessions and tokens."""
    operate(data, project, "administrators.remove", id=_id_of(data, project, email))
    click.echo(f"Removed {email}.")


@admin.command()
@platform_options
@click.argument("name")
@click.option("--rights", type=_RIGHTS, default="reader", show_default=True)
@click.option("--write", is_flag=True, help="The token may change things; without it, it only reads.")
@click.option(
    "--days", type=click.FloatRange(min=0, min_open=True, max=3650), help="Days until it ends.  [default: 30]"
)
@click.option("--forever", is_flag=True, help="The token does not end by itself.")
def token(
    data: Path | None,
    project: Path | None,
    name: str,
    rights: str,
    write: bool,
    days: float | None,
    forever: bool,
) -> None:
    """Make a token for a program, and print it. It is not shown again.

    \b
    curl -H "Authorization: Bearer $TOKEN" -d '{}' http://127.0.0.1:54321/management/v1/operations/catalog.schemas
    """
    if forever and days is not None:
        refuse("Give --days or --forever, not both.", code=2)
    lasts_s = None if forever else (days or 30) * _DAY_S
    created = operate(
        data, project, "tokens.create", name=name, rights=rights, may_write=write, lasts_s=lasts_s
    )
    click.echo(created["secret"])


def _id_of(data: Path | None, project: Path | None, email: str) -> str:
    return _id_in(operate(data, project, "administrators.list"), email)


def _id_in(rows: list[dict[str, Any]], email: str) -> str:
    for row in rows:
        if row["email"].lower() == email.lower():
            return str(row["id"])
    refuse(f"There is no administrator {email}. `headwater admin list` lists them.", code=1)


def _print_link(data: Path | None, project: Path | None, secret: str) -> None:
    """Print the address of the dashboard that signs in, or the secret alone where the dashboard is switched off."""
    _, state = running_platform(data, project)
    studio = state.values.get("STUDIO_URL")
    if studio is None:
        click.echo("This secret signs in once, within 15 minutes (POST /management/v1/sign-in):", err=True)
        click.echo(secret)
        return
    click.echo("This address signs in once, within 15 minutes:", err=True)
    click.echo(sign_in_address(studio, secret))


def operate(data: Path | None, project: Path | None, operation: str, /, **arguments: object) -> Any:
    """Run an operation in the worker layer; exit with its message if it is refused."""
    folder, state = running_platform(data, project)
    try:
        environment = work_environment(project_of_state(state), folder, state)
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "workers", "operate", operation],
        env={**inherited, **environment},
        input=json.dumps(arguments).encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(1)  # it has printed the reason
    return json.loads(done.stdout)
