"""`headwater keys rotate`: exchanges the key that signs access tokens, in the file that contains it."""

import os
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from broker.processes.private_file import exclusive_change, replace_private_file
from services.cli.options import refuse
from services.cli.secret_rotation import FormerSecretValid, SecretNotThere, exchange_secret

_TIME = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@click.command()
@click.option(
    "--keys", "file", type=click.Path(path_type=Path), metavar="FILE",
    help="File of signing keys: the one that auth.signing_keys_path names.",
)  # fmt: skip
@click.option(
    "--jwt-secret", "environment", type=click.Path(path_type=Path), metavar="FILE",
    help="File of variables that sets HEADWATER_AUTH_JWT_SECRET, such as .env: exchange the shared secret.",
)  # fmt: skip
@click.option(
    "--valid-for", default="24h", show_default=True, metavar="TIME",
    help="With --jwt-secret: how long tokens and legacy API keys of the old secret are accepted, such as 90m or 7d; 0s for not at all.",
)  # fmt: skip
def rotate(file: Path | None, environment: Path | None, valid_for: str) -> None:
    """Exchange the key that signs access tokens.

    \b
    headwater keys rotate --keys supabase/signing_keys.json
    headwater keys rotate --jwt-secret .env

    With --jwt-secret one run is the whole exchange: the file gets a random secret and legacy API keys that it signs, and names
    the old secret as auth.former_jwt_secret with the time until which its tokens are accepted. It takes effect with the next
    start. Give applications the new anon and service_role keys within that time (`headwater status` shows them); opaque
    keys (sb_...) stay. Nothing that is stored encrypted is lost, and users stay signed in; sessions from before the sealing
    key (docs/security.md) end with the old secret. A second run within that time is refused: it would end the time of the first
    secret; with --valid-for 0s it is done.

    With --keys a run is one step:

    \b
    run 1  adds a new key, the standby, which only verifies
           then wait 20 minutes, until every cache knows it
    run 2  the standby signs, the old key only verifies
           then wait auth.jwt_expiry, an hour unless changed
    run 3  drops the old key

    The file says itself which step is next. A running platform takes each one over within seconds, without a restart:
    no user is signed out and no request fails, if the times between the steps are kept. Where several machines have
    copies of the file, bring each step to all of them before the next.

    Keys of a shared secret (HS256), and with them the legacy API keys, are valid throughout. JWTs that you signed with
    the old key by yourself end with run 3.

    The file is replaced in one step, with mode 600. A key that has stopped signing has lost its private half for good.

    \b
    Exit codes: 0 done, 2 refused: the file cannot be used or written, and is as it was
    """
    if file is not None and environment is None:
        sys.exit(run_key_program("rotate", str(file)))
    if file is not None or environment is None:
        raise click.UsageError("Name one of both: --keys FILE or --jwt-secret FILE.")
    _exchange_secret(environment, _seconds(valid_for))


def _seconds(text: str) -> float:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise click.UsageError("--valid-for is a number with a unit: 90m, 24h, 7d.")
    return int(match[1]) * _UNITS[match[2]]


def _exchange_secret(file: Path, valid_s: float) -> None:
    target = Path(os.path.realpath(file))  # a link stays one
    now = datetime.now(UTC)
    until = now + timedelta(seconds=valid_s)
    try:
        with exclusive_change(target):
            changed = exchange_secret(target.read_bytes().decode(), secrets.token_urlsafe(36), until, now)
            replace_private_file(target, changed)
    except OSError as error:
        refuse(f"{file} cannot be used: {error.strerror}. It is as it was.", code=2)
    except (SecretNotThere, FormerSecretValid, UnicodeDecodeError, ValueError) as error:
        refuse(f"{file} cannot be used: {error}. It is as it was.", code=2)
    click.echo(
        f"{file} has a new JWT secret. Tokens and legacy API keys of the old one are accepted until {until:%Y-%m-%d %H:%M} UTC.\n"
        "Next: start the platform again, and give applications the new anon and service_role keys (headwater status). After that "
        "time HEADWATER_AUTH_FORMER_JWT_SECRET and its _UNTIL may be removed."
    )


def run_key_program(*words: str) -> int:
    """Run a program of `rotation_process.py`, which loads the cryptography library; return its exit code."""
    argv = [sys.executable, "-P", "-m", "services.cli.rotation_process", *words]
    return subprocess.run(argv, check=False).returncode  # noqa: S603 - ourselves
