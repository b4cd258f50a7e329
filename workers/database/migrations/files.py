"""The files of the system migrations: series, numbers, checksums, and the role that runs each part of a file.

A line `-- as: <role>` begins a part. `superuser` stands for the superuser of the run; it is used in the series `roles` and
`platform` and for statements that no other role may run, and such a part must touch nothing that runs code of a tenant
(sessions/superuser.py). With any other name, the part runs in a session that is logged in for that role only (sessions/throwaway_logins.py). Each part is a
transaction of its own, and a file is run again after an interruption, so every part must be safe to run twice.
"""

import hashlib
import re
from dataclasses import dataclass
from importlib import resources

SERIES = ("roles", "platform", "auth", "storage", "realtime", "graphql", "management")
"""The series in the order in which they are applied."""

SUPERUSER = "superuser"
_PART = re.compile(r"^-- as: (\w+)$", re.MULTILINE)


class MigrationError(Exception):
    """The database cannot be brought up to date: which file, and why."""


@dataclass(frozen=True, slots=True)
class MigrationPart:
    """A part of a file: statements that run as `role`; None is the superuser."""

    role: str | None
    sql: str


@dataclass(frozen=True, slots=True)
class SystemMigration:
    """One file of a series."""

    series: str
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the file's text, in hexadecimal."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def parts(self) -> list[MigrationPart]:
        """The parts in order. Raises: MigrationError if there are statements before the first part."""
        head, *rest = _PART.split(self.sql)
        if not rest or any(line.strip() and not line.startswith("--") for line in head.splitlines()):
            raise MigrationError(
                f"{self} does not say as whom it runs: its second line should be `-- as: <role>`"
            )
        return [
            MigrationPart(None if role == SUPERUSER else role, sql)
            for role, sql in zip(rest[::2], rest[1::2], strict=True)
        ]

    @property
    def purpose(self) -> str:
        """The first line of the file, which states its purpose."""
        first = self.sql.lstrip().partition("\n")[0]
        return first.removeprefix("--").strip() if first.startswith("--") else ""

    def __str__(self) -> str:
        return f"{self.series}/{self.version:04}_{self.name}"


def read_migrations() -> list[SystemMigration]:
    """Return all migrations in the order in which they are applied. Raises: MigrationError for a gap in the numbers."""
    migrations: list[SystemMigration] = []
    for series in SERIES:
        folder = resources.files("schemas").joinpath("migrations", series)
        files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
        for expected, file in enumerate(files, start=1):
            number, _, name = file.removesuffix(".sql").partition("_")
            if number != f"{expected:04}":
                raise MigrationError(f"{series}/{file} should have the number {expected:04}")
            text = folder.joinpath(file).read_text(encoding="utf-8")
            migrations.append(SystemMigration(series, expected, name, text))
    return migrations


def read_superseded() -> dict[str, frozenset[str]]:
    """Return the checksums that files had in earlier releases, by `series/0001_name`.

    A database that was migrated by such a text has the same schema as one migrated by the current file: the texts differ in
    the role that runs them, or a later file makes both equal. One line of `migrations/superseded.txt` is a checksum and the name of its file.
    """
    text = resources.files("schemas").joinpath("migrations", "superseded.txt").read_text(encoding="utf-8")
    superseded: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            checksum, file = line.split()
            superseded.setdefault(file, set()).add(checksum)
    return {file: frozenset(checksums) for file, checksums in superseded.items()}
