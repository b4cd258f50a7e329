"""What uses the database of a running platform beside the platform itself: asked before an idle one is stopped."""

import asyncio
import contextlib
import os
import sys

import msgspec

from schemas.projects import DatabaseUse
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.data_folder.state import PlatformState
from services.supervisor.errors import StartFailed
from services.supervisor.project.settings import Project
from services.supervisor.project.work import work_environment

_ASK_S = 60.0


def use_text(use: DatabaseUse) -> str:
    """Return what uses a database, in words; empty if nothing does (pure)."""
    texts = [
        (use.sessions, "sessions of other programs, jobs or functions in its database"),
        (use.working, "statements that run"),
        (use.readers, "consumers of its log"),
        (use.subscriptions, "enabled subscriptions"),
    ]
    return ", ".join(f"{count} {what}" for count, what in texts if count)


async def database_use(folder: DataFolder, project: Project, state: PlatformState) -> DatabaseUse:
    """Run `workers use`, because the layer `services` contains no SQL. Raises: StartFailed, OSError, TimeoutError, MsgspecError."""
    environment = await asyncio.to_thread(work_environment, project, folder, state)
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "workers", "use",
        env={**inherited, **environment},
        cwd="/",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_ASK_S):
            answer, errors = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
    if process.returncode != 0:
        raise StartFailed(errors.decode(errors="replace").strip()[-500:])
    return msgspec.json.decode(answer, type=DatabaseUse)
