"""Writes migrations as files of the project folder: new ones, and those that only the history of a database has."""

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from workers.project.project_folder import FOLDER, ProjectMigration, StoredMigration
from workers.project.text_migration import file_part

_VERSION = re.compile(r"\d{1,32}", re.ASCII)
_COPIES_ROWS = re.compile(r"copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)


def write_migration(folder: Path, file_name: str, text: str) -> Path:
    """Write a new file into the folder `migrations` of a project folder, whole or not at all; return its path.

    Raises: OSError; FileExistsError if there is such a file, which stays as it is; FileNotFoundError without the project folder.
    """
    if Path(file_name).name != file_name:
        raise FileNotFoundError(f"{file_name} is no name of a file")
    migrations = folder / "migrations"
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder} (`headwater init` makes one)")
    migrations.mkdir(exist_ok=True)
    path, draft = migrations / file_name, migrations / f".{file_name}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it fails if the file exists
    finally:
        draft.unlink(missing_ok=True)
    return path


def files_to_write(
    stored: Iterable[StoredMigration], local: Iterable[ProjectMigration]
) -> tuple[Mapping[str, str], list[str]]:
    """Return the text by name of the files that the folder lacks, and a notice for each that cannot be written (pure).

    The rows of the history belong to the project, so a version must be digits and a name is reduced to a part of a file's name.
    """
    present = {migration.version for migration in local}
    texts: dict[str, str] = {}
    notices: list[str] = []
    for migration in stored:
        if migration.version in present:
            continue
        if not _VERSION.fullmatch(migration.version):
            notices.append(f"version {migration.version[:40]!r} is skipped: a version is digits")
        elif not migration.statements:
            notices.append(f"version {migration.version} is skipped: the history has no text of it")
        elif any(_COPIES_ROWS.match(text) for text in migration.statements):
            notices.append(
                f"version {migration.version} is skipped: the history has not the rows that it copies"
            )
        else:
            texts[f"{migration.version}_{file_part(migration.name)}.sql"] = text_of(migration.statements)
    return texts, notices


def text_of(statements: Iterable[str]) -> str:
    """Return the text of a file with these statements (pure)."""
    return "\n\n".join(f"{statement};" for statement in statements) + "\n"


def display_name(file_name: str) -> str:
    """Return the path of a migration as it is shown (pure)."""
    return f"{FOLDER}/migrations/{file_name}"
