"""Start worker pools: `python -P -m workers rest ...`; bring the database up to date: `python -P -m workers migrate`;
do one piece of work of a project: `python -P -m workers project TASK`.

Only the pools that are asked for are imported. All pools of one process share one broker connection, one set of
database connections and one schema cache. `images` has none of that and stands alone: it decodes hostile bytes.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from broker.observability.observe import configure
from broker.processes.lifecycle import Process, process_settings, run_process, wait_for_go
from schemas.settings.secret_files import with_file_values
from schemas.settings.tree import Settings, SettingsError

POOLS = {
    "rest": "workers.rest.pool",
    "graphql": "workers.graphql.pool",
    "auth": "workers.auth.pool",
    "storage": "workers.storage.pool",
    "replication": "workers.replication.pool",
    "realtime": "workers.realtime.pool",
    "scheduler": "workers.scheduler.pool",
}
"""Name of a pool -> module with `async def serve_pool(resources) -> Serving`."""
ALONE = {"images": "workers.images.pool", "functions": "workers.functions.pool"}
"""Pools with a process of their own and no database -> module with `async def run_pool(process, settings)`."""


def main() -> int:
    """Run what the command line names; the exit code tells how it ended (`broker/processes/lifecycle.py`)."""
    if sys.argv[1:2] == ["project"]:
        return _project("workers.project.run", sys.argv[2:])
    if sys.argv[1:2] in (["backup"], ["restore"]):
        return _project("workers.backup.run", sys.argv[1:])
    if sys.argv[1:2] == ["examine"]:
        return _project("workers.examine")
    if sys.argv[1:2] == ["secrets"]:
        return _project("workers.functions.offline_secrets", sys.argv[2:])
    if sys.argv[1:2] == ["upgrade"]:
        if "--dry-run" not in sys.argv:
            importlib.import_module("workers.project.replace").run_recover(with_file_values(os.environ))
        return _project("workers.database.upgrade", sys.argv[2:])
    if sys.argv[1:2] == ["recover"]:
        importlib.import_module("workers.project.replace").run_recover(with_file_values(os.environ))
        return 0
    parser = argparse.ArgumentParser(prog="python -m workers", description="Start Headwater's worker pools.")
    parser.add_argument(
        "names", nargs="+", choices=[*POOLS, *ALONE, "migrate"], help="pools to run, or: migrate"
    )
    names: list[str] = list(dict.fromkeys(parser.parse_args().names))
    if "migrate" in names and len(names) > 1:
        parser.error("migrate stands alone: pools start when it is done")
    if len(names) > 1 and (alone := [name for name in names if name in ALONE]):
        parser.error(f"{alone[0]} runs in a process of its own")
    try:
        settings = process_settings()
    except SettingsError as error:
        print(f"headwater: {error}", file=sys.stderr)
        return 2
    preload(names)
    wait_for_go()
    if "migrate" in names:
        return _migrate(settings)
    configure(settings.log.level, settings.log.format, "workers")

    async def start(process: Process) -> None:
        if names[0] in ALONE:
            await importlib.import_module(ALONE[names[0]]).run_pool(process, settings)
            return
        await importlib.import_module("workers.resources").run_pools(
            process, settings, [POOLS[name] for name in names]
        )

    return run_process("workers", start, settings)


def preload(names: Sequence[str]) -> None:
    """Import what these pools, or `migrate`, are going to need."""
    for module in _modules(names):
        importlib.import_module(module)


def _modules(names: Sequence[str]) -> list[str]:
    """Give what a process is going to need, so that it is loaded while the process has to wait anyway."""
    if "migrate" in names:
        return ["workers.project.replace", "workers.database.migrate", "workers.project.start"]
    if names[0] in ALONE:
        return [ALONE[names[0]]]
    return ["workers.resources", *(POOLS[name] for name in names)]


def _migrate(settings: Settings) -> int:
    """Bring the database up to date, the platform's part and the project's; keep no slot that nobody will read."""
    environment = with_file_values(os.environ)
    if settings.db.bootstrap:
        importlib.import_module("workers.project.replace").run_recover(environment)
    if not settings.realtime.enabled:
        importlib.import_module("workers.replication.retire").run(settings, environment)
    if not settings.db.bootstrap:
        return 0
    code: int = importlib.import_module("workers.database.migrate").run(settings, environment)
    return code or importlib.import_module("workers.project.start").run(settings, environment)


def _project(module: str, *words: list[str]) -> int:
    """Do a piece of work of a project; the exit code tells how it ended (`workers/project/run.py`, `workers/backup/run.py`)."""
    try:
        settings = process_settings()
    except SettingsError as error:
        print(f"headwater: {error}", file=sys.stderr)
        return 2
    code: int = importlib.import_module(module).run(settings, with_file_values(os.environ), *words)
    return code


if __name__ == "__main__":
    sys.exit(main())
