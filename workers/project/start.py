"""The project's part of a start: what is pending is applied by the process that keeps the system schemas up to date.

What it says goes to the log; lines for the user are JSON with a level, and a refusal is lines that begin with `! `
(`services/supervisor/processes/log_files.py` reads both).
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import asyncpg

from schemas.settings.tree import Settings
from workers.project.bring_up import Local, Tell, read_local, start_project
from workers.project.door import Links, links_of, open_door
from workers.project.errors import ProjectError

FOLDER_VARIABLE = "HEADWATER_PROJECT_FOLDER"
"""Names the folder with config.toml, migrations and seeds."""
REFUSAL = "! "
"""What each line of a refusal begins with."""


def run(settings: Settings, environment: Mapping[str, str]) -> int:
    """Apply what is pending; give the exit code: 0, or 1 with a refusal on standard error."""
    folder = environment.get(FOLDER_VARIABLE, "")
    if not folder or not Path(folder).is_dir():
        return 0
    try:
        local = read_local(Path(folder), settings)
        if not local.is_empty or local.notices:
            asyncio.run(_start(local, links_of(environment)))
    except ProjectError as error:
        return refuse(str(error))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return refuse(f"the project's migrations could not be applied: {error}")
    return 0


def refuse(text: str) -> int:
    """Say why the start ends here; give the exit code."""
    for line in text.splitlines():
        print(f"{REFUSAL}{line}", file=sys.stderr)
    return 1


async def _start(local: Local, links: Links) -> None:
    async with open_door(links.project, lambda text: print(f"notice: {text}", flush=True)) as door:
        await start_project(door, local, _said("notice"), _said("warning"), with_seeds=links.is_embedded)


def _said(level: str) -> Tell:
    def say(text: str) -> None:
        print(json.dumps({"level": level, "event": text}), flush=True)

    return say
