"""Finds a `headwater start` that has not taken the lock of its data folder yet: it still loads its code (Linux).

That takes a second, and several on a busy machine. A `stop` that came in it once found nothing to stop, and the platform came up after it.
The command line and the folder of the process say which data folder it is going to lock; nothing else is known that early.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from services.supervisor.project.settings import find_data

_PROGRAMS = ("headwater", "services.cli.main")
_OPTIONS = ("--data", "--project")


def starting_process(data: Path, proc: Path = Path("/proc")) -> int | None:
    """Return the process id of a `headwater start` for a data folder by the same user; None if there is none."""
    for entry in proc.glob("[0-9]*"):
        try:
            if entry.stat().st_uid != os.geteuid() or int(entry.name) == os.getpid():
                continue
            arguments = os.fsdecode((entry / "cmdline").read_bytes()).split("\0")[:-1]
            if (options := start_options(arguments)) is None:
                continue
            here = Path(os.readlink(entry / "cwd"))
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        named = next(
            (os.fsdecode(line[15:]) for line in environment if line.startswith(b"HEADWATER_DATA=")), ""
        )
        folder = options.get("--data", named)
        root = here / options["--project"] if "--project" in options else here
        found = find_data(here / folder if folder else None, root)
        if os.path.realpath(found) == os.path.realpath(data):
            return int(entry.name)
    return None


def start_options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Return the options of a command line that name the platform; None if it is no `headwater start` (pure)."""
    for at, word in enumerate(arguments):
        if word == "start" and at > 0 and Path(arguments[at - 1]).name in _PROGRAMS:
            break
    else:
        return None
    options: dict[str, str] = {}
    rest = arguments[at + 1 :]
    for at, word in enumerate(rest):
        name, is_joined, value = word.partition("=")
        if name in _OPTIONS and is_joined:
            options[name] = value
        elif word in _OPTIONS and at + 1 < len(rest):
            options[word] = rest[at + 1]
    return options
