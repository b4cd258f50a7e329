"""Start edges: `python -P -m services gateway`."""

import argparse
import sys

from broker.processes.lifecycle import ManagedProcess, process_settings, run_process, wait_for_go
from schemas.settings.tree import SettingsError
from services.app import serve_edges

EDGES = ("gateway", "mail")


def main() -> int:
    """Run the edges that the command line names; the exit codes are those of `broker/processes/lifecycle.py`."""
    parser = argparse.ArgumentParser(prog="python -m services", description="Start Headwater's edges.")
    parser.add_argument("names", nargs="+", choices=EDGES, help="edges to run")
    names: list[str] = parser.parse_args().names
    try:
        settings = process_settings()
    except SettingsError as error:
        print(f"headwater: {error}", file=sys.stderr)
        return 2

    wait_for_go()

    async def start(process: ManagedProcess) -> None:
        await serve_edges(process, settings, names)

    return run_process("edges", start, settings)


if __name__ == "__main__":
    sys.exit(main())
