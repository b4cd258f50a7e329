"""The module of a program that a command line names; apart from `fork_server.py`, whose libraries the supervisor does not need."""

import importlib
import importlib.util
from types import ModuleType


def module_of(name: str) -> ModuleType:
    """Import the module that holds the `main()` of a program."""
    entry = f"{name}.__main__"
    is_package = importlib.util.find_spec(name)
    if is_package is not None and is_package.submodule_search_locations is not None:
        name = entry
    return importlib.import_module(name)
