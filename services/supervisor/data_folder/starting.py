"""Finds a `headwater start` that has not taken the lock of its data folder yet: it still loads its code (Linux).

That takes a second, and several on a busy machine. A `stop` that came in it once found nothing to stop, and the platform came up after it.
The command line and the folder of the process say which data folder it is going to lock; nothing else is known that early.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from services.supervisor.branches.choice import chosen_branch
from services.supervisor.data_folder.folder import is_data_folder
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import DATA_FOLDER, find_data

_PROGRAMS = ("headwater", "services.cli.main")
_OPTIONS = ("--data", "--project", "--branch")
_VARIABLES = {"HEADWATER_DATA": "--data", "HEADWATER_BRANCH": "--branch"}


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
        found = _data_of(options, _variables(environment), here)
        if found is not None and os.path.realpath(found) == os.path.realpath(data):
            return int(entry.name)
    return None


def _variables(environment: list[bytes]) -> dict[str, str]:
    """Return the variables that stand for options, by the options' names."""
    pairs = (os.fsdecode(line).partition("=") for line in environment)
    return {_VARIABLES[name]: value for name, _, value in pairs if name in _VARIABLES and value}


def _data_of(options: Mapping[str, str], variables: Mapping[str, str], here: Path) -> Path | None:
    """Return the data folder that a start in a folder is going to lock; None for what is no branch."""
    named = {**variables, **options}
    data = here / named["--data"] if named.get("--data") else None
    root = here / named["--project"] if named.get("--project") else None
    branch = named.get("--branch", "")
    if branch and data is None and root is None:  # a branch is one of the platform here or above
        root = next((path for path in (here, *here.parents) if is_data_folder(path / DATA_FOLDER)), here)
    try:
        chosen = chosen_branch(data, root or here, branch)
    except StartRefused:
        return None
    return find_data(data, root or here) if chosen is None else chosen.folder.path


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
