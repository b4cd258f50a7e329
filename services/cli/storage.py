"""`headwater storage keys`: access keys of the S3 endpoint that stand in the database, of a running platform."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click

from services.cli.options import platform_options, refuse, running_platform
from services.cli.output import env_lines, json_text
from services.supervisor.loopback_tls import context_for

F = TypeVar("F", bound=Callable[..., Any])

_PATH = "/storage/v1/s3-keys"
_TIMEOUT_S = 30.0


@click.group()
def storage() -> None:
    """Administer the storage of a running platform."""


@storage.group()
def keys() -> None:
    """Access keys of the S3 endpoint, in addition to the pair of the settings.

    Each has claims of its own, as an access token has: the database role that it takes, and for row policies who it is.
    The database keeps their secrets encrypted with the platform's JWT secret: with another one, they hold no longer.
    """


def _form(function: F) -> F:
    return click.option(
        "-o", "--output", "form", type=click.Choice(["env", "json"]), default="env", show_default=True,
        help="Form of the answer: for .env files, or JSON.",
    )(function)  # fmt: skip


@keys.command()
@platform_options
@click.option("--role", default="service_role", show_default=True, help="Database role that the key takes.")
@click.option("--subject", metavar="ID", help="Who it is: the claim `sub`, what auth.uid() gives.")
@_form
def create(data: Path | None, project: Path | None, role: str, subject: str | None, form: str) -> None:
    """Make a key pair. Its secret is shown this once.

    \b
    headwater storage keys create --role authenticated --subject 7f0c4a52-...

    A key of service_role may do everything; any other is held to the policies of its role.

    \b
    Exit codes: 0 created, 1 nothing runs or it refused
    """
    claims = {"role": role, **({"sub": subject} if subject else {})}
    created = _send(data, project, "POST", _PATH, {"claims": claims})
    pair = {
        "AWS_ACCESS_KEY_ID": created["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": created["secret_access_key"],
    }
    click.echo(env_lines(pair) if form == "env" else json_text(created))


@keys.command("list")
@platform_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def listing(data: Path | None, project: Path | None, form: str) -> None:
    """List the keys that hold, without their secrets.

    \b
    Exit codes: 0 listed, 1 nothing runs or it refused
    """
    rows = _send(data, project, "GET", _PATH)
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['access_key_id']}  {row['created_at'][:19]}  {json.dumps(row['claims'])}")


@keys.command()
@platform_options
@click.argument("id")
def delete(data: Path | None, project: Path | None, id: str) -> None:
    """Take a key away: what it signs from now on is refused.

    \b
    Exit codes: 0 removed, 1 no platform runs, or the key does not exist
    """
    _send(data, project, "DELETE", f"{_PATH}/{quote(id, safe='')}")
    click.echo(f"The key {id} holds no longer.")


def _send(data: Path | None, project: Path | None, method: str, path: str, body: object = None) -> Any:
    """Send a request as the service role; exit with the platform's error text if it fails."""
    _, state = running_platform(data, project)
    if "API_URL" not in state.values:
        refuse("This platform runs no gateway here; ask where it does.", code=1)
    key = state.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(state.values["API_URL"] + path, sent, headers, method=method)  # noqa: S310 - our own address
    try:
        context = context_for(request.full_url)
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as answer:  # noqa: S310 - as above
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            refuse(f"The platform refused: {_message(error.read())}", code=1)
    except (OSError, ValueError, http.client.HTTPException) as error:
        refuse(f"The platform does not answer: {error or type(error).__name__}", code=1)


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:200].decode(errors="replace")
