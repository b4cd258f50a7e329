"""`headwater keys rotate`: the next step of a rotation of signing keys, on the file that contains them."""

import subprocess
import sys
from pathlib import Path

import click


@click.command()
@click.option(
    "--keys", "file", type=click.Path(path_type=Path), required=True, metavar="FILE",
    help="File of signing keys: the one that auth.signing_keys_path names.",
)  # fmt: skip
def rotate(file: Path) -> None:
    """Exchange the key that signs access tokens, one step a run.

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
    sys.exit(run_key_program("rotate", str(file)))


def run_key_program(*words: str) -> int:
    """Run a program of `rotation_process.py`, which loads the cryptography library; return its exit code."""
    argv = [sys.executable, "-P", "-m", "services.cli.rotation_process", *words]
    return subprocess.run(argv, check=False).returncode  # noqa: S603 - ourselves
