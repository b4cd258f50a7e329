"""Start edges: `python -P -m services gateway`."""

import argparse
import sys
from collections.abc import Sequence

from broker.processes.lifecycle import ManagedProcess, process_settings, run_process, wait_for_go
from schemas.settings.tree import SettingsError
from services.app import serve_edges

EDGES = ("gateway", "mail")


def main() -> int:
    """Run the edges that the command line names; the exit codes are those of `broker/processes/lifecycle.py`."""
    names = _names(sys.argv[1:])
    try:
        settings = process_settings()
    except SettingsError as error:
        print(f"headwater: {error}", file=sys.stderr)
        return 2

    wait_for_go()

    async def start(process: ManagedProcess) -> None:
        await serve_edges(process, settings, names)

    return run_process("edges", start, settings)


def _names(arguments: Sequence[str]) -> list[str]:
    """Return the edges that a command line names; exit with 2 and an explanation if it is wrong."""
    if arguments and set(arguments) <= set(EDGES):
        return list(arguments)  # the parser would take 0.6 MB of the process
    parser = argparse.ArgumentParser(prog="python -m services", description="Start Headwater's edges.")
    parser.add_argument("names", nargs="+", choices=EDGES, help="edges to run")
    names: list[str] = parser.parse_args(arguments).names
    return names


if __name__ == "__main__":
    sys.exit(main())
