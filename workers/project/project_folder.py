"""The files of a project folder: migrations, seeds, roles.sql, the declared schema.

Source: docs/reference/platform.md, section 2.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.migration_names import MIGRATION_NAME, equal_versions
from workers.project.errors import ProjectRejected, SplitRejected
from workers.project.sql_splitter import ScriptStatement, SplitError, split

_OLD_INIT = re.compile(r"(\d{14})_init\.sql")
_OLDEST_INIT = "20211209"
DECLARED = "schemas"
"""The folder of the declared schema."""
FOLDER = "supabase"
"""The folder's name in messages and in the history of seeds."""


FOLDER_VARIABLE = "HEADWATER_PROJECT_FOLDER"
"""Environment variable with the folder of config.toml, migrations and seeds."""


def project_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the project folder that the environment names, whether it exists or not; None if it names none."""
    folder = environment.get(FOLDER_VARIABLE, "")
    return Path(folder) if folder else None


@dataclass(frozen=True, slots=True)
class Script:
    """A file of SQL; `name` is its path as shown to the user."""

    name: str
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self) -> list[ScriptStatement]:
        """Return the statements of the file. Raises: SplitRejected."""
        try:
            return split(self.text)
        except SplitError as error:
            raise SplitRejected(self.name, self.text, error.offset, error.message) from None


@dataclass(frozen=True, slots=True)
class ProjectMigration:
    """One migration of the folder; `version` is the digits at the start of its name."""

    version: str
    name: str
    path: Path

    def script(self) -> Script:
        """Read the file. Raises: ProjectRejected."""
        return read_script(self.path, f"{FOLDER}/migrations/{self.path.name}")


@dataclass(frozen=True, slots=True)
class StoredMigration:
    """A migration as the history of a database has it."""

    version: str
    name: str
    statements: list[str]


def read_migrations(folder: Path) -> tuple[list[ProjectMigration], list[str]]:
    """Return the migrations in the order of their file names, with a notice for each skipped file.

    Raises: ProjectRejected if two have the same version.
    """
    migrations: list[ProjectMigration] = []
    notices: list[str] = []
    for path in _sql_files(folder / "migrations"):
        name = path.name
        old = _OLD_INIT.fullmatch(name)
        if not migrations and old and old[1] < _OLDEST_INIT:
            notices.append(
                f"{FOLDER}/migrations/{name} is older than the format of migrations and is skipped"
            )
        elif match := MIGRATION_NAME.fullmatch(name):
            migrations.append(ProjectMigration(match[1], match[2], path))
        else:
            notices.append(
                f"{FOLDER}/migrations/{name} is skipped: the name of a migration is <digits>_<name>.sql"
            )
    if fault := equal_versions(migration.path.name for migration in migrations):
        raise ProjectRejected(fault)
    return migrations, notices


def read_seeds(folder: Path, patterns: Sequence[str]) -> tuple[list[Script], list[str]]:
    """Return the seeds that the patterns match, each once, with a notice for a pattern that matches none. Raises: ProjectRejected."""
    paths, notices = _matching(folder, patterns, "db.seed.sql_paths")
    return [read_script(path, name) for name, path in paths.items()], notices


def read_roles(folder: Path) -> Script | None:
    """Return `roles.sql`; None if the file does not exist."""
    path = folder / "roles.sql"
    return read_script(path, f"{FOLDER}/roles.sql") if path.is_file() else None


def read_declared(folder: Path, patterns: Sequence[str]) -> tuple[list[Script], list[str]]:
    """Return the files of the declared schema: those the patterns match, else all of `schemas/` and its sub-folders."""
    if patterns:
        by_name, notices = _matching(folder, patterns, "db.migrations.schema_paths")
    else:
        paths = sorted(path for path in (folder / DECLARED).rglob("*.sql") if path.is_file())
        by_name, notices = {_display_name(folder, path): path for path in paths}, []
    return [read_script(path, name) for name, path in by_name.items()], notices


def read_script(path: Path, name: str) -> Script:
    """Read a file of SQL. Raises: ProjectRejected if it cannot be read or is not UTF-8."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ProjectRejected(f"{name} cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ProjectRejected(f"{name}, line {line}: this is not UTF-8. Save the file as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ProjectRejected(
            f"{name}, line {line}: there is a zero byte. Is it saved as UTF-16? Save it as UTF-8."
        )
    return Script(name, text)


def _sql_files(folder: Path) -> Iterable[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        (path for path in folder.iterdir() if path.name.endswith(".sql") and path.is_file()),
        key=lambda path: path.name,
    )


def _matching(folder: Path, patterns: Iterable[str], key: str) -> tuple[dict[str, Path], list[str]]:
    """Return the files by display name, in the order of the patterns, sorted for each pattern."""
    paths: dict[str, Path] = {}
    notices: list[str] = []
    for pattern in patterns:
        try:
            matched = sorted(path for path in _glob(folder, pattern) if path.is_file())
        except ValueError:
            raise ProjectRejected(f"{key}: {pattern} is no pattern: ** stands alone between two /.") from None
        paths |= {_display_name(folder, path): path for path in matched}
        if not matched and pattern not in ("./seed.sql", "seed.sql"):
            notices.append(f"{key}: no file matches {pattern}")
    return paths, notices


def _glob(folder: Path, pattern: str) -> Iterable[Path]:
    path = Path(pattern)
    top, rest = (Path(path.anchor), path.relative_to(path.anchor)) if path.is_absolute() else (folder, path)
    parts = rest.parts
    while parts and parts[0] == "..":
        top, parts = top.parent, parts[1:]
    return top.glob(str(Path(*parts))) if parts else []


def _display_name(folder: Path, path: Path) -> str:
    """Return a file's path as the official tool records it: relative to the folder above."""
    try:
        return f"{FOLDER}/{path.relative_to(folder)}"
    except ValueError:
        return str(path)
