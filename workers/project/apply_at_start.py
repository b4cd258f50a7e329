"""Applies a project's pending migrations and seeds at a start, in the process that migrates the system schemas.

Its output goes to the log: messages for the user are JSON lines with a level, and an error that stops the start is lines that
begin with `! ` (`services/supervisor/processes/log_files.py` reads both).
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import asyncpg

from schemas.settings.tree import Settings
from workers.project.errors import ProjectError
from workers.project.project_connection import ProjectUrls, open_project_connection, read_project_urls
from workers.project.project_folder import FOLDER_VARIABLE
from workers.project.push import ProjectFiles, Report, read_project_files, start_project

REFUSAL = "! "
"""Prefix of each line of an error that stops the start."""


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Apply pending files; return the exit code: 0, or 1 with the error on standard error."""
    folder = environment.get(FOLDER_VARIABLE, "")
    if not folder or not Path(folder).is_dir():
        return 0
    try:
        files = read_project_files(Path(folder), settings)
        if not files.is_empty or files.notices:
            asyncio.run(_start(files, read_project_urls(environment)))
    except ProjectError as error:
        return refuse(str(error))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return refuse(f"the project's migrations could not be applied: {str(error) or type(error).__name__}")
    return 0


def refuse(text: str) -> int:
    """Print why the start stops; return the exit code."""
    for line in text.splitlines():
        print(f"{REFUSAL}{line}", file=sys.stderr)
    return 1


async def _start(files: ProjectFiles, urls: ProjectUrls) -> None:
    async with open_project_connection(
        urls.project, lambda text: print(f"notice: {text}", flush=True)
    ) as project:
        await start_project(
            project, files, _print_at("notice"), _print_at("warning"), with_seeds=urls.is_embedded
        )


def _print_at(level: str) -> Report:
    def report(text: str) -> None:
        print(json.dumps({"level": level, "event": text}), flush=True)

    return report
