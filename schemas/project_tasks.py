"""Define the tasks that the command line runs for a project: `python -P -m workers project TASK`, with the task as
JSON.

A task must not contain a secret, because the list of processes shows it. Addresses and passwords are passed in the
environment.
"""

import hmac
from typing import Literal

import msgspec
from msgspec import Struct


class ApplyTask(Struct, frozen=True, tag="apply"):
    """Apply the migrations that are pending. `include_all`: also those older than the last one applied."""

    include_all: bool = False
    seeds: bool = False
    roles: bool = False
    dry_run: bool = False
    up_to: str | None = None
    """The last version to apply."""


class ResetTask(Struct, frozen=True, tag="reset"):
    """Recreate the database: platform, roles, migrations, seeds."""

    up_to: str | None = None
    seeds: bool = True


class ListMigrationsTask(Struct, frozen=True, tag="list"):
    """Compare the migrations of the folder and of the database."""

    form: Literal["pretty", "json"] = "pretty"


class RepairTask(Struct, frozen=True, tag="repair"):
    """Change the history of migrations without running any. Without versions it becomes the folder's."""

    status: Literal["applied", "reverted"]
    versions: list[str] = []


class FetchTask(Struct, frozen=True, tag="fetch"):
    """Write the migrations that only the history of the database has into the folder."""


class SeedTask(Struct, frozen=True, tag="seed"):
    """Run the seeds that have not run yet; `again`: all of them."""

    again: bool = False


class TypesTask(Struct, frozen=True, tag="types"):
    """Generate types for schemas; without a list, for those that the API exposes."""

    language: Literal["typescript", "python", "zod", "dart"]
    schemas: list[str] = []


class LintTask(Struct, frozen=True, tag="lint"):
    """Check the database for faults. The exit code is 1 for faults of level `fail_on` or above."""

    schemas: list[str] = []
    level: Literal["warning", "error"] = "warning"
    fail_on: Literal["none", "warning", "error"] = "none"
    form: Literal["pretty", "json"] = "pretty"


class DiffTask(Struct, frozen=True, tag="diff"):
    """Compare the result of the migrations with the database, or with the declared schema if the project has one."""

    schemas: list[str] = []
    against: Literal["auto", "database", "declared"] = "auto"
    renames: list[str] = []
    """Each `[schema.]table=new` or `[schema.]table.column=new`."""


class AccessTask(Struct, frozen=True, tag="access"):
    """Try migrations and show who gains and who loses access: files, or those of the folder that are pending. Exit code 3 for an alarm."""

    files: list[str] = []
    """Paths of files; empty: the migrations that are pending."""
    users: list[str] = []
    """Ids of users to try; empty: a sample of `sample` users."""
    sample: int = 1000
    channels: list[str] = []
    timeout_s: float = 120.0
    form: Literal["pretty", "json"] = "pretty"


class DatabasesForTestsTask(Struct, frozen=True, tag="databases_for_tests"):
    """Make databases for tests on the shadow server: `name_of_test_database(1)` to `name_of_test_database(count)`."""

    count: int


def name_of_test_database(number: int) -> str:
    """Return the name of a database for tests."""
    return f"headwater_test_{number}"


def password_of_tests(superuser_password: str) -> str:
    """Return the password of role postgres on the shadow server; it does not give away that of the superuser."""
    return hmac.digest(superuser_password.encode(), b"database tests", "sha256").hex()


Task = (
    ApplyTask
    | ResetTask
    | ListMigrationsTask
    | RepairTask
    | FetchTask
    | SeedTask
    | TypesTask
    | LintTask
    | DiffTask
    | AccessTask
    | DatabasesForTestsTask
)


def read_task(text: str) -> Task:
    """Parse a task. Raises: msgspec.ValidationError."""
    return msgspec.json.decode(text, type=Task)  # type: ignore[no-any-return]  # mypy has no type for a union
