"""`headwater keys`: keys and passwords to put into `.env`, random ones or those of development; keys that sign."""

import importlib
import secrets
from pathlib import Path

import click

from schemas.settings.tree import DEVELOPMENT_DB_PASSWORD, Auth
from services.cli.options import platform_options
from services.cli.s3_pair import ENVIRONMENT
from services.cli.show import env_lines, json_text
from services.supervisor.api_keys import ApiKeys, keys_of, random_keys

_LATER = {"files": "services.cli.key_files", "rotate": "services.cli.rotate"}


class _WithMore(click.Group):
    """Knows `files` and `rotate`, and imports them, with the cryptography they need, only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names."""
        del ctx
        return list(_LATER)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give a command by its name."""
        del ctx
        if cmd_name not in _LATER:
            return None
        found: click.Command = getattr(importlib.import_module(_LATER[cmd_name]), cmd_name)
        return found


@click.group(
    cls=_WithMore, invoke_without_command=True, subcommand_metavar="[files FOLDER | rotate --keys FILE]"
)
@platform_options
@click.option("--development", is_flag=True, help="Show the published development keys instead.")
@click.option(
    "--signing", is_flag=True, help="Make a list of signing keys instead: one that signs (ES256, a JWK)."
)
@click.option(
    "-o", "--output", "form", type=click.Choice(["env", "json"]), default="env", show_default=True,
    help="Form of the answer: for .env files, or JSON. Signing keys are always JSON.",
)  # fmt: skip
@click.pass_context
def keys(
    context: click.Context,
    data: Path | None,
    project: Path | None,
    development: bool,
    signing: bool,
    form: str,
) -> None:
    """Make random keys for production.

    \b
    headwater keys >> .env
    (umask 077; headwater keys --signing > supabase/signing_keys.json)

    A start that listens on more than this machine needs the first ones. Nothing is stored or changed: put them where the start reads them (.env in the project folder), and keep that file
    out of version control. The keys a running platform uses are shown by `headwater status`.

    The file of signing keys is private too; name it as signing_keys_path in [auth]. Access tokens are then signed by a
    key whose public half everybody may have, and `headwater keys rotate` exchanges it without a gap.
    """
    del data, project  # taken by every command; these keys belong to no platform yet
    if context.invoked_subcommand is not None:
        return
    if signing:
        if development:
            raise click.UsageError(
                "--signing and --development exclude one another: no signing key is published"
            )
        click.echo(importlib.import_module("schemas.keys.key_rotation").new_list(), nl=False)
        return
    made, password = (
        (keys_of(Auth()), DEVELOPMENT_DB_PASSWORD)
        if development
        else (random_keys(), secrets.token_urlsafe(24))
    )
    values = named_keys(made, password)
    if not development:  # no pair of S3 is published: a start makes its own
        values |= s3_pair()
    click.echo(env_lines(values) if form == "env" else json_text(values))


def s3_pair() -> dict[str, str]:
    """Make a key pair of the S3 endpoint, under the environment names of the settings."""
    id, secret = ENVIRONMENT.values()
    return {id: secrets.token_hex(16), secret: secrets.token_hex(32)}


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
