"""Programs of `headwater keys` that need the cryptography library: `python -P -m services.cli.rotation_process new|rotate FILE`.

They are processes of their own, because loading that library would be a quarter of the start time of every command.
"""

import os
import sys
from pathlib import Path

import click

from broker.processes.private_file import exclusive_change, replace_private_file
from schemas.keys.key_rotation import RotationResult, RotationStep, new_list, rotate
from services.cli.options import refuse

_CACHES = "20 minutes"
_MOST_BYTES = 1024 * 1024


def rotate_file(file: Path) -> str:
    """Do the next step of a rotation on a file; return what was done. Exits with an error if the file cannot be used."""
    target = Path(os.path.realpath(file))  # a link stays one
    try:
        with exclusive_change(target):
            rotated = rotate(_read(target))
            replace_private_file(target, rotated.text)
    except FileNotFoundError:
        refuse(f"There is no file {file}. Make one with `headwater keys --signing > {file}`.", code=2)
    except OSError as error:
        refuse(f"{file} cannot be used: {error.strerror}. It is as it was.", code=2)
    except ValueError as error:
        refuse(f"{file} cannot be used: {error}. It is as it was.", code=2)
    return summary(rotated)


def summary(done: RotationResult) -> str:
    """Return what was done, what comes next, and how long to wait before."""
    others = ", ".join(done.others)
    match done.step:
        case RotationStep.MOVED if done.is_last:
            return (
                f"The key {done.signing} signs from now on. {others} is a shared secret and goes on verifying until you "
                "take it out of the file.\nNext: nothing, the rotation is complete."
            )
        case RotationStep.ADDED:
            return (
                f"Added the key {others}: it verifies, and does not sign yet. {done.signing} signs as before.\n"
                f"Next: run this again in {_CACHES} or later, when every cache of /auth/v1/.well-known/jwks.json knows "
                "the new key; then it signs."
            )
        case RotationStep.MOVED:
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


def main() -> None:
    """Run the program that the arguments name."""
    try:
        if sys.argv[1] == "new":
            click.echo(new_list(), nl=False)
        else:
            click.echo(rotate_file(Path(sys.argv[2])))
    except click.exceptions.Exit as exit_:
        sys.exit(exit_.exit_code)


if __name__ == "__main__":
    main()
