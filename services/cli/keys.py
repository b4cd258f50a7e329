"""`headwater keys`: keys and passwords to put into `.env`, random ones or those of development."""

import secrets
from pathlib import Path

import click

from schemas.settings import DEVELOPMENT_DB_PASSWORD, Auth
from services.cli.options import platform_options
from services.cli.show import env_lines, json_text
from services.supervisor.api_keys import ApiKeys, keys_of, random_keys


@click.command()
@platform_options
@click.option("--development", is_flag=True, help="Show the published development keys instead.")
@click.option(
    "-o", "--output", "form", type=click.Choice(["env", "json"]), default="env", show_default=True,
    help="Form of the answer: for .env files, or JSON.",
)  # fmt: skip
def keys(data: Path | None, project: Path | None, development: bool, form: str) -> None:
    """Make random keys for production.

    \b
    headwater keys >> .env

    A start that listens on more than this machine needs them. Nothing is stored or changed: put them where the start reads them (.env in the project folder), and keep that file
    out of version control. The keys a running platform uses are shown by `headwater status`.
    """
    del data, project  # taken by every command; these keys belong to no platform yet
    made, password = (
        (keys_of(Auth()), DEVELOPMENT_DB_PASSWORD)
        if development
        else (random_keys(), secrets.token_urlsafe(24))
    )
    values = named_keys(made, password)
    click.echo(env_lines(values) if form == "env" else json_text(values))


def named_keys(made: ApiKeys, password: str) -> dict[str, str]:
    """Give keys under the environment names of the settings."""
    return {
        "HEADWATER_AUTH_JWT_SECRET": made.jwt_secret,
        "HEADWATER_AUTH_ANON_KEY": made.anon_key,
        "HEADWATER_AUTH_SERVICE_ROLE_KEY": made.service_role_key,
        "HEADWATER_AUTH_PUBLISHABLE_KEY": made.publishable_key,
        "HEADWATER_AUTH_SECRET_KEY": made.secret_key,
        "HEADWATER_DB_PASSWORD": password,
    }
