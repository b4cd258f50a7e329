"""The files of a project folder: migrations, seeds, roles.sql, the declared schema.

Source: reference page "platform", section 2.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workers.project.errors import Refused, SplitRefused
from workers.project.split import SplitError, Statement, split

_MIGRATION = re.compile(r"(\d+)_(.*)\.sql")
_OLD_INIT = re.compile(r"(\d{14})_init\.sql")
_OLDEST_INIT = "20211209"
DECLARED = "schemas"
"""The folder of the declared schema."""
FOLDER = "supabase"
"""How messages and the history of seeds name the folder."""


@dataclass(frozen=True, slots=True)
class Script:
    """A file of SQL: `name` is how the user knows it, `text` what stands in it."""

    name: str
    text: str = field(repr=False)

    @property
    def digest(self) -> str:
        """Give the SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def statements(self) -> list[Statement]:
        """Give the statements of the file. Raises: SplitRefused."""
        try:
            return split(self.text)
        except SplitError as error:
            raise SplitRefused(self.name, self.text, error.offset, error.message) from None


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration of the folder. `version` are the digits its name begins with."""

    version: str
    name: str
    path: Path

    def script(self) -> Script:
        """Read it. Raises: Refused."""
        return read_script(self.path, f"{FOLDER}/migrations/{self.path.name}")


def read_migrations(folder: Path) -> tuple[list[Migration], list[str]]:
    """Give the migrations in the order of their file names, with a notice for each file that is none.

    Raises: Refused if two have one version.
    """
    found: list[Migration] = []
    notices: list[str] = []
    for path in _sql_files(folder / "migrations"):
        name = path.name
        old = _OLD_INIT.fullmatch(name)
        if not found and old and old[1] < _OLDEST_INIT:
            notices.append(
                f"{FOLDER}/migrations/{name} is older than the format of migrations and is skipped"
            )
        elif match := _MIGRATION.fullmatch(name):
            found.append(Migration(match[1], match[2], path))
        else:
            notices.append(
                f"{FOLDER}/migrations/{name} is skipped: the name of a migration is <digits>_<name>.sql"
            )
    _check_versions(found)
    return found, notices


def read_seeds(folder: Path, patterns: Sequence[str]) -> tuple[list[Script], list[str]]:
    """Give the seeds that the patterns name, each once, with a notice for a pattern that names none."""
    found, notices = _matching(folder, patterns, "db.seed.sql_paths")
    return [read_script(path, name) for name, path in found.items()], notices


def read_roles(folder: Path) -> Script | None:
    """Give `roles.sql`, if there."""
    path = folder / "roles.sql"
    return read_script(path, f"{FOLDER}/roles.sql") if path.is_file() else None


def read_declared(folder: Path, patterns: Sequence[str]) -> tuple[list[Script], list[str]]:
    """Give the files of the declared schema: those the patterns name, else all of `schemas/`, sub-folders too."""
    if patterns:
        found, notices = _matching(folder, patterns, "db.migrations.schema_paths")
    else:
        paths = sorted(path for path in (folder / DECLARED).rglob("*.sql") if path.is_file())
        found, notices = {_shown(folder, path): path for path in paths}, []
    return [read_script(path, name) for name, path in found.items()], notices


def read_script(path: Path, name: str) -> Script:
    """Read a file of SQL. Raises: Refused if it cannot be read or is not UTF-8."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Refused(f"{name} cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Refused(f"{name}, line {line}: this is not UTF-8. Save the file as UTF-8.") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Refused(f"{name}, line {line}: there is a zero byte. Is it saved as UTF-16? Save it as UTF-8.")
    return Script(name, text)


def _sql_files(folder: Path) -> Iterable[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        (path for path in folder.iterdir() if path.name.endswith(".sql") and path.is_file()),
        key=lambda path: path.name,
    )


def _check_versions(found: Iterable[Migration]) -> None:
    before: dict[str, Migration] = {}
    for each in found:
        other = before.setdefault(each.version, each)
        if other is not each:
            raise Refused(
                f"{FOLDER}/migrations/{other.path.name} and {each.path.name} have the same version {each.version}. "
                "Give one of them another number."
            )


def _matching(folder: Path, patterns: Iterable[str], key: str) -> tuple[dict[str, Path], list[str]]:
    """Give the files by their shown name, in the order of the patterns, each pattern's sorted."""
    found: dict[str, Path] = {}
    notices: list[str] = []
    for pattern in patterns:
        matched = sorted(path for path in _glob(folder, pattern) if path.is_file())
        found |= {_shown(folder, path): path for path in matched}
        if not matched and pattern not in ("./seed.sql", "seed.sql"):
            notices.append(f"{key}: no file matches {pattern}")
    return found, notices


def _glob(folder: Path, pattern: str) -> Iterable[Path]:
    path = Path(pattern)
    top, rest = (Path(path.anchor), path.relative_to(path.anchor)) if path.is_absolute() else (folder, path)
    parts = rest.parts
    while parts and parts[0] == "..":
        top, parts = top.parent, parts[1:]
    return top.glob(str(Path(*parts))) if parts else []


def _shown(folder: Path, path: Path) -> str:
    """Name a file as the official tool records it: from the folder above."""
    try:
        return f"{FOLDER}/{path.relative_to(folder)}"
    except ValueError:
        return str(path)
