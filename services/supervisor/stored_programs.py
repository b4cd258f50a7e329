"""Store what the programs of an installation compile while they load, so that no start of it has to (broker/processes/definition_cache.py).

A start stores it by itself where it may write into the installation. `headwater precompile` is for one that it may not write into: an
image, a package that root installed.

Each file is written by a process that loads nothing else, `python -P -m services.supervisor.stored_programs FILE PROGRAM...`.
"""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from broker.processes.definition_cache import definitions_file
from broker.processes.program_modules import module_of
from services.supervisor.errors import StartRefused


def store_programs() -> Iterator[Path]:
    """Write the files one after another, and yield each. Raises: StartRefused if this user may not write there."""
    programs = _programs()
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for name in _LOADERS:
        path = definitions_file(name)
        with suppress(OSError):  # the check below sees what is still there
            path.unlink(missing_ok=True)
        command = (sys.executable, "-P", "-m", "services.supervisor.stored_programs", name, *programs)
        began = time.time()
        done = subprocess.run(command, env=environment, check=False)  # noqa: S603 - ourselves
        if done.returncode or not path.exists() or path.stat().st_mtime < began - 1:
            raise StartRefused(f"{path} could not be written. Run this as the owner of that folder.")
        yield path


def main() -> None:
    """Load what the arguments name, so that it is stored."""
    name, *programs = sys.argv[1:]
    _LOADERS[name]([program.split() for program in programs])


def _programs() -> list[str]:
    """Return every program that the fork server of a platform may be asked to load. The processes that load them may not import the plan."""
    plan = importlib.import_module("services.supervisor.processes.plan")
    database = [name for name in plan.POOLS if name not in plan.SINGLE_POOLS]
    alone = [f"workers {name}" for name in (*plan.SINGLE_POOLS, "archive")]
    waiting = "workers.functions.placeholder"
    return [f"workers {' '.join(database)}", *alone, waiting, f"services {' '.join(plan.EDGES)}"]


def _load_commands(_: Sequence[Sequence[str]]) -> None:
    group = importlib.import_module("services.cli.main")
    for name in group.COMMANDS:
        group.main.get_command(None, name)


def _load_programs(programs: Sequence[Sequence[str]]) -> None:
    importlib.import_module("broker.processes.fork_server").load_programs(programs)


def _load_migrate(_: Sequence[Sequence[str]]) -> None:
    module_of("workers").load_migrate()


_LOADERS: dict[str, Callable[[Sequence[Sequence[str]]], None]] = {
    "commands": _load_commands,
    "programs": _load_programs,
    "migrate": _load_migrate,
}
"""The names of the files, and what loads the code of each."""


if __name__ == "__main__":
    main()
