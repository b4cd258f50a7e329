"""Start edges: `python -P -m services gateway`."""

import argparse
import os
import sys
from pathlib import Path

from broker.process import Process, run_process
from schemas.settings import Settings, SettingsError, load_settings
from services.app import serve_edges

EDGES = ("gateway",)


def main() -> int:
    """Run what the command line names; the exit code tells how it ended (`broker/process.py`)."""
    parser = argparse.ArgumentParser(prog="python -m services", description="Start Headwater's edges.")
    parser.add_argument("names", nargs="+", choices=EDGES, help="edges to run")
    names: list[str] = parser.parse_args().names
    try:
        settings = _read_settings()
    except SettingsError as error:
        print(f"headwater: {error}", file=sys.stderr)
        return 2

    async def start(process: Process) -> None:
        await serve_edges(process, settings, names)

    return run_process("edges", start, settings)


def _read_settings() -> Settings:
    path = os.environ.get("HEADWATER_CONFIG", "")
    try:
        config = Path(path).read_bytes() if path else b""
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    settings, _ = load_settings(config, source=path or "config.toml")
    return settings


if __name__ == "__main__":
    sys.exit(main())
