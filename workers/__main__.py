"""Start worker pools: `python -P -m workers rest ...`, or bring the database up to date: `python -P -m workers migrate`.

Only the pools that are asked for are imported. All pools of one process share one broker connection, one set of
database connections and one schema cache.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

from broker.observe import configure
from broker.process import Process, run_process
from schemas.settings import Settings, SettingsError, load_settings

POOLS = {"rest": "workers.rest.pool"}
"""Name of a pool -> module with `async def serve_pool(resources) -> Serving`."""


def main() -> int:
    """Run what the command line names; the exit code tells how it ended (`broker/process.py`)."""
    parser = argparse.ArgumentParser(prog="python -m workers", description="Start Headwater's worker pools.")
    parser.add_argument("names", nargs="+", choices=[*POOLS, "migrate"], help="pools to run, or: migrate")
    names: list[str] = parser.parse_args().names
    try:
        settings = read_settings()
    except SettingsError as error:
        print(f"headwater: {error}", file=sys.stderr)
        return 2
    if "migrate" in names and not settings.db.bootstrap:
        return 0
    if "migrate" in names:
        return importlib.import_module("workers.database.migrate").run(settings, os.environ)  # type: ignore[no-any-return]  # imported by name
    configure(settings.log.level, settings.log.format, "workers")

    async def start(process: Process) -> None:
        await importlib.import_module("workers.resources").run_pools(
            process, settings, [POOLS[name] for name in names]
        )

    return run_process("workers", start, settings)


def read_settings() -> Settings:
    """Read the settings of this process and tell their warnings. Raises: SettingsError."""
    path = os.environ.get("HEADWATER_CONFIG", "")
    try:
        config = Path(path).read_bytes() if path else b""
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    settings, _ = load_settings(config, source=path or "config.toml")
    return settings


if __name__ == "__main__":
    sys.exit(main())
