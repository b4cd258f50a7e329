"""`headwater db access-diff`: who gains and who loses access by a migration; and the options of every such comparison."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from schemas.project_tasks import AccessTask
from services.cli.options import platform_options
from services.cli.project_work import finish

F = TypeVar("F", bound=Callable[..., Any])
ALARM = 3
"""Exit code where clients without a token, or users of another tenant, gain."""
MOST_USERS = 100_000


def access_options(command: F) -> F:
    """Add the options that say who is tried."""
    for option in reversed(
        (
            click.option("--user", "users", multiple=True, metavar="ID", help="Try this user; repeatable. Without one a sample is tried."),
            click.option("--users", "sample", type=click.IntRange(0, MOST_USERS), default=1000, show_default=True, help="Users of the sample."),
            click.option("--channel", "channels", multiple=True, metavar="TOPIC", help="Try this private channel of realtime too; repeatable."),
            click.option("--timeout", "timeout_s", type=click.FloatRange(1, 3600), default=120.0, show_default=True, metavar="SECONDS", help="Longest time of the comparison."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@click.command("access-diff")
@platform_options
@click.option(
    "--migration", "files", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="A file of SQL; repeatable, in order. Without one: the migrations that are pending.",
)  # fmt: skip
@access_options
@click.option(
    "-o", "--output", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True
)
def access_diff(
    data: Path | None,
    project: Path | None,
    files: tuple[Path, ...],
    users: tuple[str, ...],
    sample: int,
    channels: tuple[str, ...],
    timeout_s: float,
    form: str,
) -> None:
    """Show which rows, files, channels, functions and columns roles and users gain and lose by a migration.

    It runs in a transaction that is rolled back, as role postgres. Tables that it alters are locked meanwhile: try it in a branch of a
    busy platform (--branch). Statements that cannot run in a transaction: docs/access.md.

    \b
    headwater db access-diff --migration supabase/migrations/20261129101500_share.sql
    headwater db access-diff --user 5f0c2f3e-5f0e-4b57-9d9c-0a5a3f1f2c11

    \b
    Exit codes: 0 compared, 1 the migration failed, or nothing runs; 2 it cannot be tried; 3 anon, or a user of another tenant, gains
    """
    finish(data, project, access_task(files, users, sample, channels, timeout_s, form))


def access_task(
    files: tuple[Path, ...],
    users: tuple[str, ...],
    sample: int,
    channels: tuple[str, ...],
    timeout_s: float,
    form: str,
) -> AccessTask:
    """Return the task of a comparison."""
    if "" in channels:
        raise click.BadParameter("a channel has a name", param_hint="--channel")
    paths = [str(path.resolve()) for path in files]
    return AccessTask(
        paths, list(users), sample, list(channels), timeout_s, "json" if form == "json" else "pretty"
    )
