"""`headwater seed`: run the seeds of a project."""

from pathlib import Path

import click

from schemas.project_tasks import SeedTask
from services.cli.options import platform_options
from services.cli.project_work import finish


@click.command()
@platform_options
@click.option("--again", is_flag=True, help="Run all of them, also those that ran before.")
def seed(data: Path | None, project: Path | None, again: bool) -> None:
    """Run the seeds that never ran.

    They are the files of [db.seed] sql_paths, supabase/seed.sql unless set. Each is one transaction.

    \b
    Exit codes: 0 they ran, or none was waiting; 1 a file failed, or nothing runs; 2 the folder cannot be used
    """
    finish(data, project, SeedTask(again))
