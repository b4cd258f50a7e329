"""`headwater init`: create a new project folder."""

from importlib import resources
from pathlib import Path

import click

from schemas.system_errors import system_error_text
from services.cli.options import parent_options, refuse
from services.supervisor.project.settings import CONFIG, DATA_FOLDER

_SEED = "-- Rows for development. `insert into ...` statements go here.\n"
_IGNORED = (f"{DATA_FOLDER}/", ".env", ".env.local", "supabase/.temp/", "supabase/.branches/")


@click.command()
@parent_options
def init(data: Path | None, project: Path | None) -> None:
    """Create a new project folder.

    Creates supabase/config.toml, supabase/migrations/ and supabase/seed.sql, and enters the data folder in .gitignore.
    Nothing that is there is overwritten.

    \b
    Exit codes: 0 created, 2 there is a project already, or the folder cannot be written
    """
    del data  # every command has this option; `start` creates the data folder
    root = (project or Path()).resolve()
    config = root / CONFIG
    if config.exists():
        refuse(
            f"{config} is already there and was left as it is. Remove it first, or name another folder with --project.",
            code=2,
        )
    try:
        _create(root, config)
    except OSError as error:
        refuse(f"The project could not be created: {system_error_text(error)}", code=2)
    click.echo("Start the platform with `headwater start`.")


def _create(root: Path, config: Path) -> None:
    """Create the files. `config.toml` is the last one: after an error the command can be repeated."""
    (config.parent / "migrations").mkdir(parents=True, exist_ok=True)
    click.echo(f"Created {config.parent / 'migrations'}")
    seed = config.parent / "seed.sql"
    if not seed.exists():
        seed.write_text(_SEED)
        click.echo(f"Created {seed}")
    if added := _ignore(root / ".gitignore"):
        click.echo(f"Entered {', '.join(added)} in {root / '.gitignore'}")
    template = resources.files("services.cli").joinpath("config.toml").read_text()
    draft = config.with_name(f".{config.name}.new")
    draft.write_text(template.replace("PROJECT", _project_id(root)))
    draft.replace(config)
    click.echo(f"Created {config}")


def _ignore(path: Path) -> list[str]:
    """Add what does not belong in version control to `.gitignore`; return the entries that were missing."""
    content = path.read_bytes() if path.exists() else b""  # bytes: it may have any encoding and line ends
    present = {line.strip().strip(b"/") for line in content.splitlines()}
    missing = [entry for entry in _IGNORED if entry.strip("/").encode() not in present]
    if missing:
        line_end = b"\r\n" if b"\r\n" in content else b"\n"
        gap = b"" if not content or content.endswith(b"\n") else line_end
        with path.open("ab") as file:
            file.write(gap + b"".join(entry.encode() + line_end for entry in missing))
    return missing


def _project_id(root: Path) -> str:
    """Return the folder's name with `-` for characters that an id cannot have."""
    return (
        "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "-" for sign in root.name)
        or "headwater"
    )
