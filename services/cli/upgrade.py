"""`headwater upgrade`: bring the platform's own schemas up to date, or print what that would change."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from services.cli.options import data_folder, platform_options, refuse
from services.supervisor.binaries import headwater_version
from services.supervisor.data_folder.state import running_state
from services.supervisor.errors import SupervisorError
from services.supervisor.project.settings import load_project
from services.supervisor.project.work import project_of_state, work_environment


@click.command()
@platform_options
@click.option("--dry-run", is_flag=True, help="Change nothing: list what is pending, try it, take it back.")
def upgrade(data: Path | None, project: Path | None, dry_run: bool) -> None:
    """Bring the schemas of the platform in the database up to date with the installed headwater.

    A start does the same; this is for who wants to know first, and for an outside database, before the new version is
    rolled out. --dry-run runs all of it in one transaction and rolls that back: it shows what would come, go and change,
    and finds what would fail. It holds the locks of the real run meanwhile; where those are not to be had, it gives up.

    \b
    headwater backup backups/before && headwater upgrade --dry-run && headwater upgrade

    \b
    Exit codes: 0 done, or nothing to do; 1 it failed; 2 refused: the database is newer than the installed headwater
    """
    environment, version = _environment(data, project)
    words = ["upgrade", *(["--dry-run"] if dry_run else [])]
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    argv = [sys.executable, "-P", "-m", "workers", *words]
    code = subprocess.run(argv, env={**inherited, **environment}, check=False).returncode  # noqa: S603 - ourselves
    if code == 0 and version not in ("", headwater_version()) and not dry_run:
        click.echo(
            f"The platform that runs is still {version}: end it with `headwater stop` and start it again."
        )
    sys.exit(code)


def _environment(data: Path | None, project: Path | None) -> tuple[Mapping[str, str], str]:
    """Return the environment of the work, and the version of the platform if it runs."""
    folder = data_folder(data, project)
    state = running_state(folder)
    try:
        if state is not None:
            return work_environment(project_of_state(state), folder, state), state.version
        loaded = load_project(project, None, folder.path, {})
    except SupervisorError as error:
        refuse(str(error), code=error.exit_code)
    if loaded.settings.db.url is None:
        refuse(
            f"No platform is running in {folder.path}, so its database cannot be asked. "
            "`headwater start` brings it up to date by itself.",
            code=1,
        )
    config = {"HEADWATER_CONFIG": str(loaded.config)} if loaded.config else {}
    return {**loaded.environment, **config}, ""
