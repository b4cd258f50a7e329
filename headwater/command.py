"""The command `headwater`: it finds the platform's folders and runs the command line, or one program of the platform."""

import importlib
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
PROGRAMS = ("services", "workers")
"""What `python -P -m headwater NAME ARGUMENTS...` runs: edges and worker pools."""


def main() -> None:
    """Run the command line."""
    add_to_path()
    importlib.import_module("services.cli.main").main()


def run_program() -> int:
    """Run the program that the command line names, else the command line; return the exit code."""
    add_to_path()
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        main()
        return 0
    sys.argv = sys.argv[1:]
    code: int = importlib.import_module(f"{sys.argv[0]}.__main__").main()
    return code


def add_to_path() -> None:
    """Make the platform's folders importable in this process, and by PYTHONPATH in those that it starts.

    In a clone they lie beside this folder, where the environment finds them already.
    """
    if not (_HERE / "services").is_dir():
        return
    sys.path.insert(0, str(_HERE))
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if str(_HERE) not in others:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(_HERE), *others])
