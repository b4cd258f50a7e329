"""What the command line asks of the workers about a project: `python -P -m workers project TASK`, the task as JSON.

None of it holds a secret: it stands in the list of processes. Addresses and passwords come by the environment.
"""

from typing import Literal

import msgspec
from msgspec import Struct


class Apply(Struct, frozen=True, tag="apply"):
    """Apply the migrations that are pending. `include_all`: also those older than the last one applied."""

    include_all: bool = False
    seeds: bool = False
    roles: bool = False
    dry_run: bool = False
    up_to: str | None = None
    """The last version to apply."""


class Reset(Struct, frozen=True, tag="reset"):
    """Make the database anew: platform, roles, migrations, seeds."""

    up_to: str | None = None
    seeds: bool = True


class ListMigrations(Struct, frozen=True, tag="list"):
    """Tell which migrations the folder and the database have."""

    form: Literal["pretty", "json"] = "pretty"


class Repair(Struct, frozen=True, tag="repair"):
    """Change the history without running anything. No versions: the whole history becomes that of the folder."""

    status: Literal["applied", "reverted"]
    versions: list[str] = []


class RunSeeds(Struct, frozen=True, tag="seed"):
    """Run the seeds that never ran; `again`: all of them."""

    again: bool = False


class Types(Struct, frozen=True, tag="types"):
    """Write the types of schemas. No schemas: those that the API exposes."""

    language: Literal["typescript", "python"]
    schemas: list[str] = []


class Lint(Struct, frozen=True, tag="lint"):
    """Look for faults. `fail_on` makes the exit code 1 from this level on."""

    schemas: list[str] = []
    level: Literal["warning", "error"] = "warning"
    fail_on: Literal["none", "warning", "error"] = "none"
    form: Literal["pretty", "json"] = "pretty"


class Diff(Struct, frozen=True, tag="diff"):
    """Compare what the migrations make with the database, or with the declared schema where the project has one."""

    schemas: list[str] = []
    against: Literal["auto", "database", "declared"] = "auto"


Task = Apply | Reset | ListMigrations | Repair | RunSeeds | Types | Lint | Diff


def read_task(text: str) -> Task:
    """Read a task. Raises: msgspec.ValidationError."""
    return msgspec.json.decode(text, type=Task)  # type: ignore[no-any-return]  # a union is no type to mypy
