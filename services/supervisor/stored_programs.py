"""Store what the programs of an installation compile while they load, so that no start of it has to (broker/processes/definition_cache.py).

    python -P -m services.supervisor.stored_programs

A start stores it by itself where it may write into the installation. This is for one that it may not write into: an image, a package
that root installed. Prints the files and their sizes. Exit code 1 if one could not be written. It needs some 10 s.
"""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from broker.processes.definition_cache import definitions_file
from broker.processes.program_modules import module_of


def main() -> int:
    """Store all files, each by a process that loads nothing else; with arguments, load what they name."""
    if sys.argv[1:]:
        name, *programs = sys.argv[1:]
        _LOADERS[name]([program.split() for program in programs])
        return 0
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
            print(f"{path} could not be written: run this as the owner of that folder", file=sys.stderr)
            return 1
        print(f"{path}: {path.stat().st_size / 1024:,.0f} KB")
    return 0


def _programs() -> list[str]:
    """Return every program that the fork server of a platform can be told to load. The processes that load them may not import the plan."""
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
    sys.exit(main())
