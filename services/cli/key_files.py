"""`headwater keys files`: the secrets of a platform on many machines, one file each."""

import os
import secrets
from pathlib import Path

import click

from services.cli.options import refuse
from services.supervisor.deployment import NATS_HOSTS, SINGLE, ServerAddresses, deployment_secrets


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--database", default="db:5432", show_default=True, metavar="HOST:PORT", help="Where Postgres is."
)
@click.option(
    "--nats", multiple=True, default=NATS_HOSTS, show_default=True, metavar="HOST",
    help="A server of the NATS cluster, repeatable.",
)  # fmt: skip
def files(folder: Path, database: str, nats: tuple[str, ...]) -> None:
    """Make random keys and passwords for many machines, one file each, as docker-compose.yml reads them.

    \b
    headwater keys files deploy/secrets

    The folder is for its owner alone; the files in it are readable, because processes in containers run as other users.
    Existing files stay as they are; missing passwords of single logins are created.

    \b
    Exit codes: 0 created, 2 the folder cannot be written
    """
    places = ServerAddresses(database, [f"{host}:4222" for host in nats], [f"{host}:6222" for host in nats])
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        contents = deployment_secrets(places)
        present = {name for name in contents if (folder / name).exists()}
        missing = contents.keys() - present
        if present and (dependent := missing - SINGLE):
            refuse(
                f"{folder} has a part of the secrets; {', '.join(sorted(dependent))} would not fit to them. "
                "Bring them back, or begin in an empty folder.",
                code=2,
            )
        _write_all(folder, {name: contents[name] for name in sorted(missing)})
    except OSError as error:
        refuse(f"{folder} cannot be written: {error.strerror}", code=2)
    created = f"Made {len(missing)}" if missing else ""
    unchanged = f"{'kept' if created else 'Kept'} {len(present)}" if present else ""
    click.echo(f"{', '.join(filter(None, (created, unchanged)))} secrets in {folder}")
    _warn_of_shared(folder)


def _warn_of_shared(folder: Path) -> None:
    """Warn where the data pools' login has the password of role postgres, as earlier versions generated it."""
    if (folder / "db_password").read_text() in (folder / "db_url").read_text():
        click.secho(
            f"{folder / 'db_url'} holds the password of role postgres. Remove {folder / 'db_password'} and run this again: "
            "role postgres gets one of its own with the next migrate.",
            fg="yellow",
            err=True,
        )


def _write_all(folder: Path, contents: dict[str, str]) -> None:
    """Write new files, all or none: a part of them would be refused the next time. Raises: OSError."""
    written: list[Path] = []
    try:
        for name, text in contents.items():
            _write(folder / name, text)
            written.append(folder / name)
    except OSError:
        for path in written:
            path.unlink(missing_ok=True)
        raise


def _write(path: Path, text: str) -> None:
    """Write a new file, whole or not at all. Raises: OSError, also if it exists."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it fails if another command has written the file
    finally:
        draft.unlink(missing_ok=True)
