"""Run one step of a branch (schemas/branches.py) in the worker layer, because `services` contains no SQL."""

import os
import subprocess
import sys
from typing import TypeVar

import msgspec

from schemas.branches import BranchTask
from services.supervisor.errors import StartFailed, StartRefused
from services.supervisor.project.settings import Project

T = TypeVar("T")


def run_step(project: Project, task: BranchTask, answer: type[T], *, lock: int | None = None) -> T:
    """Run a step under the settings of a project and return its answer. Raises: StartRefused, StartFailed with the reason.

    The step holds `lock` too, so that a draft stays locked while a step writes into it, even if this process is killed.
    """
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    config = {"HEADWATER_CONFIG": str(project.config)} if project.config else {}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers", "branch"],
        env={**inherited, **project.environment, "HEADWATER_DATA": str(project.data), **config},
        input=msgspec.json.encode(task),
        capture_output=True,
        check=False,
        pass_fds=() if lock is None else (lock,),
    )
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip()
        raise (StartRefused if done.returncode == 2 else StartFailed)(
            reason or f"the step ended with code {done.returncode}"
        )
    return msgspec.json.decode(done.stdout, type=answer)
