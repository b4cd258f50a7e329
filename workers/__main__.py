"""Starts worker pools (`python -P -m workers rest auth`) and runs the workers' commands (`python -P -m workers migrate`).

All pools of one process share one broker connection, one connection pool and one schema cache. `images` and `functions` run in
a process of their own without a database, because they handle hostile input. Pools and commands are imported by the names in the
tables below, and the rest by the functions that need it, so that a process loads only what it runs.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from broker.observability.observe import configure
from broker.processes.definition_cache import stored_definitions
from broker.processes.lifecycle import ManagedProcess, process_settings, run_process, wait_for_go
from broker.processes.secret_files import with_file_values
from schemas.keys.sealing_keys import current_key_id
from schemas.settings.tree import Settings, SettingsError

if TYPE_CHECKING:  # loading it takes what most processes do not need
    from workers.database.migrations.migrate import MigrationSessions

POOLS = {
    "rest": "workers.rest.pool",
    "graphql": "workers.graphql.pool",
    "auth": "workers.auth.pool",
    "storage": "workers.storage.pool",
    "replication": "workers.replication.pool",
    "realtime": "workers.realtime.pool",
    "sync": "workers.sync.pool",
    "scheduler": "workers.scheduler.pool",
    "webhooks": "workers.webhooks.pool",
    "history": "workers.history.pool",
    "management": "workers.management.pool",
    "streams": "workers.streams.pool",
}
"""Name of a pool -> module with `async def serve_pool(resources) -> Serving`."""
ALONE = {
    "images": "workers.images.pool",
    "functions": "workers.functions.pool",
    "archive": "workers.backup.continuous.pool",
}
"""Pools with a process of their own -> module with `async def run_pool(process, settings)`; `archive` is continuous backup."""
COMMANDS = {
    "migrate": "bring the database up to date: the platform's migrations, then the project's",
    "upgrade": "apply the platform's migrations, or try them: upgrade [--dry-run]",
    "recover": "undo or finish an interrupted restore or reset",
    "project": "run one task of a project: project TASK (JSON, schemas/project_tasks.py)",
    "backup": "write a backup: backup FOLDER",
    "restore": "restore a backup: restore FOLDER [--force]",
    "recover-moment": "one step of a restore to a moment: recover-moment STEP (JSON)",
    "branch": "one step of making, comparing or merging a branch: branch, with the step on standard input",
    "examine": "print facts about the database as JSON, for `headwater doctor`",
    "use": "print what uses the database beside the platform itself, as JSON",
    "secrets": "read or change the secrets of functions: secrets TASK (JSON)",
    "operate": "run one operation of administrators: operate OPERATION (JSON)",
}
"""Commands and their help; all but `migrate` take the rest of the command line."""


def main() -> int:
    """Run what the command line names; return the exit code (`broker/processes/lifecycle.py`)."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in COMMANDS and arguments[0] != "migrate":
        return _run_command(arguments[0], arguments[1:])
    names = _names(arguments)
    try:
        settings = process_settings()
    except SettingsError as error:
        return _print_error(error)
    if "migrate" in names:  # a process of its own; the others were forked from loaded code
        load_migrate()
    else:
        preload(names)
    wait_for_go()
    if "migrate" in names:
        return _migrate(settings)
    configure(settings.log.level, settings.log.format, "workers")
    return run_process("workers", _starter(names, settings), settings)


def _names(arguments: Sequence[str]) -> list[str]:
    """Return the programs that a command line names, each once; exit with 2 and an explanation if it is wrong."""
    choices = [*POOLS, *ALONE, "migrate"]
    if (
        arguments
        and (len(arguments) == 1 or set(arguments) <= POOLS.keys())
        and set(arguments) <= set(choices)
    ):
        return list(dict.fromkeys(arguments))  # the parser would take 0.6 MB of each process
    parser = argparse.ArgumentParser(
        prog="python -m workers",
        description="Start Headwater's worker pools, or run one of the workers' commands.",
        epilog="commands:\n" + "".join(f"  {name:9} {text}\n" for name, text in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="+", choices=choices, help="pools to run, or a command (below)")
    names: list[str] = list(dict.fromkeys(parser.parse_args(arguments).names))
    if "migrate" in names and len(names) > 1:
        parser.error("migrate stands alone: pools start when it is done")
    if len(names) > 1 and (alone := [name for name in names if name in ALONE]):
        parser.error(f"{alone[0]} runs in a process of its own")
    return names


def _starter(
    names: Sequence[str], settings: Settings
) -> Callable[[ManagedProcess], Coroutine[Any, Any, None]]:
    """Return the function that starts pools in a process."""

    async def start(process: ManagedProcess) -> None:
        if names[0] in ALONE:
            await importlib.import_module(ALONE[names[0]]).run_pool(process, settings)
            return
        from workers.resources import run_pools

        await run_pools(process, settings, [POOLS[name] for name in names])

    return start


def load_migrate() -> None:
    """Import what `migrate` needs."""
    with stored_definitions("migrate"):
        preload(["migrate"])


def preload(names: Sequence[str]) -> None:
    """Import what these pools, or `migrate`, are going to need."""
    for module in _modules(names):
        importlib.import_module(module)


def warm_up(names: Sequence[str], settings: Settings) -> None:
    """Do, in the process that pools are forked from, what they would all do: load the ciphers of stored settings, which take 5 MB of each
    process that loads them by itself, and call `warm_up()` of those pools that have one.
    """
    if names[0] in ALONE:
        return
    from workers.settings.sealed_values import SettingsSealer

    SettingsSealer(settings.auth)
    for name in names:
        pool_warm_up: Callable[[], None] | None = getattr(
            importlib.import_module(POOLS[name]), "warm_up", None
        )
        if pool_warm_up is not None:
            pool_warm_up()


def _modules(names: Sequence[str]) -> list[str]:
    """Return the modules that a process is going to need, so that they are loaded while it has to wait anyway."""
    if "migrate" in names:
        return [
            "workers.project.replace_database",
            "workers.database.migrations.migrate",
            "workers.project.apply_at_start",
        ]
    if names[0] in ALONE:
        return [ALONE[names[0]]]
    return ["workers.resources", *(POOLS[name] for name in names)]


def _migrate(settings: Settings) -> int:
    """Migrate the database, the platform's part and the project's; drop the replication slot if realtime is disabled."""
    environment = with_file_values(os.environ)
    if settings.db.bootstrap:
        _recover(environment)
    if not settings.realtime.enabled:
        from workers.replication import retire

        retire.run(settings, environment)
    if not settings.db.bootstrap:
        return 0
    from workers.database.migrations import migrate
    from workers.project import apply_at_start

    resealing = migrate.Resealing(current_key_id(settings.auth), _seal_again)
    return migrate.run(settings, environment, resealing) or apply_at_start.run(settings, environment)


def _recover(environment: Mapping[str, str]) -> None:
    """Undo or finish an interrupted restore or reset."""
    from workers.project.replace_database import run_recover

    run_recover(environment)


async def _seal_again(sessions: "MigrationSessions", settings: Settings) -> list[str]:
    """Encrypt the stored values again; its module loads the cryptography library, which most starts do not need."""
    from workers.sealing.seal_again import seal_again

    return await seal_again(sessions, settings)


def _run_command(name: str, arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    match name:
        case "project":
            return _run_module("workers.project.tasks", arguments)
        case "backup" | "restore":
            return _run_module("workers.backup.commands", [name, *arguments])
        case "recover-moment":
            return _run_module("workers.backup.continuous.commands", arguments)
        case "branch":
            return _run_module("workers.branches.commands", arguments)
        case "examine":
            return _run_module("workers.database_facts")
        case "use":
            return _run_module("workers.database_use")
        case "secrets":
            return _run_module("workers.functions.offline_secrets", arguments)
        case "operate":
            return _run_module("workers.management.commands", arguments)
        case "upgrade":
            if "--dry-run" not in arguments:
                _recover(with_file_values(os.environ))
            return _run_module("workers.database.migrations.upgrade", arguments)
    _recover(with_file_values(os.environ))
    return 0


def _run_module(module: str, *arguments: list[str]) -> int:
    """Call `run(settings, environment, *arguments)` of a module, which returns the exit code."""
    try:
        settings = process_settings()
    except SettingsError as error:
        return _print_error(error)
    code: int = importlib.import_module(module).run(settings, with_file_values(os.environ), *arguments)
    return code


def _print_error(error: SettingsError) -> int:
    print(f"headwater: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
