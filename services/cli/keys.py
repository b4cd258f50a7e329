"""`headwater keys`: keys and passwords for `.env`, random or those of development; signing keys; and API keys of a running platform."""

import base64
import secrets
import sys
from pathlib import Path

import click

from schemas.settings.backup_checks import KEY_BYTES
from schemas.settings.tree import DEVELOPMENT_DB_PASSWORD, Auth
from services.cli.created_keys import create, list_, revoke
from services.cli.key_files import files
from services.cli.options import parent_options
from services.cli.output import env_lines, json_text
from services.cli.rotate import rotate, run_key_program
from services.cli.s3_pair import ENVIRONMENT
from services.supervisor.api_keys import ApiKeys, keys_of, random_keys


@click.group(
    invoke_without_command=True,
    subcommand_metavar="[create NAME | list | revoke NAME | files FOLDER | rotate --keys FILE | rotate --jwt-secret FILE]",
)
@parent_options
@click.option("--development", is_flag=True, help="Show the published development keys instead.")
@click.option(
    "--signing", is_flag=True, help="Make a list of signing keys instead: one that signs (ES256, a JWK)."
)
@click.option("--backup", is_flag=True, help="Make the key of continuous backup instead, as a line for .env.")
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
    backup: bool,
    form: str,
) -> None:
    """Make random keys for production.

    \b
    headwater keys >> .env
    (umask 077; headwater keys --signing > supabase/signing_keys.json)

    A start that listens on more than this machine needs the first ones. Nothing is stored or changed: put them where the start reads them (.env in the project folder), and keep that file
    out of version control. The keys a running platform uses are shown by `headwater status`;
    `create`, `list` and `revoke` change its API keys without a restart.

    `--backup` makes the key that encrypts continuous backups. Keep a copy of it apart from this machine: without it nothing
    can be restored.

    The file of signing keys is private too; name it as signing_keys_path in [auth]. Access tokens are then signed by a
    key whose public half is published, and `headwater keys rotate` exchanges it without a gap.
    """
    del data, project  # every command has these options; new keys do not belong to a platform yet
    if context.invoked_subcommand is not None:
        return
    if signing + backup + development > 1:
        raise click.UsageError(
            "--signing, --backup and --development exclude one another: each makes another kind of key, and only the first kind is published"
        )
    if signing:
        sys.exit(run_key_program("new"))
    if backup:
        key = {"HEADWATER_BACKUP_KEY": base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}
        click.echo(env_lines(key) if form == "env" else json_text(key))
        return
    api_keys, password = (
        (keys_of(Auth()), DEVELOPMENT_DB_PASSWORD)
        if development
        else (random_keys(), secrets.token_urlsafe(24))
    )
    values = named_keys(api_keys, password)
    if not development:  # the S3 pair lacks a published development value: a start generates one
        values |= s3_pair()
    click.echo(env_lines(values) if form == "env" else json_text(values))


def s3_pair() -> dict[str, str]:
    """Generate a key pair of the S3 endpoint, under the environment names of the settings."""
    id, secret = ENVIRONMENT.values()
    return {id: secrets.token_hex(16), secret: secrets.token_hex(32)}


def named_keys(keys: ApiKeys, password: str) -> dict[str, str]:
    """Return keys under the environment names of the settings."""
    return {
        "HEADWATER_AUTH_JWT_SECRET": keys.jwt_secret,
        "HEADWATER_AUTH_ANON_KEY": keys.anon_key,
        "HEADWATER_AUTH_SERVICE_ROLE_KEY": keys.service_role_key,
        "HEADWATER_AUTH_PUBLISHABLE_KEY": keys.publishable_key,
        "HEADWATER_AUTH_SECRET_KEY": keys.secret_key,
        "HEADWATER_DB_PASSWORD": password,
    }


keys.add_command(create)
keys.add_command(list_)
keys.add_command(revoke)
keys.add_command(files)
keys.add_command(rotate)
