"""`headwater keys rotate`: the next step of a rotation of signing keys, on the file that holds them."""

import contextlib
import os
import tempfile
from pathlib import Path

import click

from schemas.keys.key_rotation import Rotated, Step
from schemas.keys.key_rotation import rotate as next_step
from services.cli.options import refuse

_CACHES = "20 minutes"
_MOST_BYTES = 1024 * 1024


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
    nobody is signed out and no request fails, if the times between the steps are kept. Where several machines have
    copies of the file, bring each step to all of them before the next.

    Keys of a shared secret (HS256), and with them the legacy API keys, are valid throughout. JWTs that you signed with
    the old key by yourself end with run 3.

    The file is replaced in one step, with mode 600. A key that has stopped signing has lost its private half for good.

    \b
    Exit codes: 0 done, 2 refused: the file cannot be used or written, and is as it was
    """
    target = Path(os.path.realpath(file))  # a link stays one
    try:
        text = _read(target)
        done = next_step(text)
        _replace(target, done.text)
    except FileNotFoundError:
        refuse(f"There is no file {file}. Make one with `headwater keys --signing > {file}`.", code=2)
    except OSError as error:
        refuse(f"{file} cannot be used: {error.strerror}. It is as it was.", code=2)
    except ValueError as error:
        refuse(f"{file} cannot be used: {error}. It is as it was.", code=2)
    click.echo(words(done))


def words(done: Rotated) -> str:
    """Say what was done, what comes next, and how long to wait before."""
    others = ", ".join(done.others)
    match done.step:
        case Step.MOVED if done.is_last:
            return (
                f"The key {done.signing} signs from now on. {others} is a shared secret and goes on verifying until you "
                "take it out of the file.\nNext: nothing, the rotation is complete."
            )
        case Step.ADDED:
            return (
                f"Added the key {others}: it verifies, and does not sign yet. {done.signing} signs as before.\n"
                f"Next: run this again in {_CACHES} or later, when every cache of /auth/v1/.well-known/jwks.json knows "
                "the new key; then it signs."
            )
        case Step.MOVED:
            return (
                f"The key {done.signing} signs from now on. {others} only verifies what it has signed.\n"
                "Next: run this again when the last token of the old key has ended, after auth.jwt_expiry (an hour "
                "unless you changed it); then the old key is dropped."
            )
    return (
        f"Dropped the key {others}: what it has signed is refused from now on. {done.signing} signs.\n"
        "Next: nothing, the rotation is complete. The next run begins another one."
    )


def _read(file: Path) -> str:
    with file.open("rb") as opened:
        data = opened.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it is longer than {_MOST_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None


def _replace(file: Path, text: str) -> None:
    """Write a file that only its owner can read, in one step; it keeps its owner. Raises: OSError, ValueError."""
    owner = file.stat()
    if os.geteuid() not in (0, owner.st_uid):
        raise ValueError(
            "it belongs to another user; run this as that user, so that the platform can still read it"
        )
    descriptor, draft = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as opened:
            if os.geteuid() == 0:
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            opened.write(text)
            opened.flush()
            os.fsync(descriptor)
        os.replace(draft, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
