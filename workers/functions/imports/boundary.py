"""Check that the modules of a function lie inside its folders (pure except for symbolic links).

    outside(address, roots) -> the file that lies outside, or None          an import's address, links resolved
    config_faults(deno.json, roots) -> settings that name folders outside    workspace, links, patch

The kernel denies such files when they are opened (`sandbox/landlock.py`), however they are reached. This check runs first and has
clear messages: a deployment that imports a file outside is rejected, and a local function is not started.
"""

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes, urlsplit

import msgspec

from workers.functions.imports.import_map import local_path, parse_jsonc

_LONGEST_CONFIG = 1024 * 1024
_LONGEST_SHOWN = 200
_FOLDERS = ("workspace", "workspaces", "links", "patch")
"""Keys of deno.json and package.json for folders whose modules the runtime loads as part of the project."""


def real_roots(roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return roots with symbolic links resolved."""
    return tuple(Path(os.path.realpath(root)) for root in roots)


def outside(address: str, roots: Sequence[Path]) -> str | None:
    """Return the path of a file that an address names outside of all roots, else None; `roots` are real paths."""
    try:
        path = local_path(address)
        host = urlsplit(address).hostname
    except ValueError:
        return address[:_LONGEST_SHOWN] if address.lower().startswith("file:") else None
    if path is None:
        return None
    if host not in (None, "localhost") or "\0" in str(path):
        return address[:_LONGEST_SHOWN]
    real = Path(os.path.realpath(path))
    return None if any(real.is_relative_to(root) for root in roots) else str(path)[:_LONGEST_SHOWN]


def data_source(address: str) -> str | None:
    """Return the source of a module that is contained in its address (`data:`); None for other addresses."""
    if address[:5].lower() != "data:":
        return None
    head, comma, body = address[5:].partition(",")
    if not comma:
        return None
    if not head.lower().rstrip().endswith(";base64"):
        return unquote(body)
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=False).decode(errors="replace")
    except (binascii.Error, ValueError):
        return None


def config_faults(files: Sequence[Path], roots: Sequence[Path]) -> list[str]:
    """Return which settings of configuration files name folders outside of the roots, and which files are too long, one sentence each."""
    faults = []
    for file in files:
        if _is_too_long(file):
            faults.append(f"{file.name} is longer than {_LONGEST_CONFIG >> 20} MiB, so it was not examined")
            continue
        for key, value in _entries(_read(file)):
            target = value.removeprefix("file:").removeprefix("//") if value.startswith("file:") else value
            if outside(Path(os.path.abspath(file.parent / target)).as_uri(), roots):
                faults.append(
                    f"{file.name}: {key} names {value[:_LONGEST_SHOWN]!r}, which the function may not read"
                )
    return faults


def _entries(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each folder that a configuration names, with its key."""
    for key in _FOLDERS:
        listed = config.get(key)
        if isinstance(listed, dict):
            listed = [
                folder
                for value in listed.values()
                for folder in (value if isinstance(value, list) else [value])
            ]
        for value in listed if isinstance(listed, list) else [listed]:
            if isinstance(value, str) and "\0" not in value:
                yield key, value.removesuffix("/*")
    for group in ("dependencies", "devDependencies", "optionalDependencies"):
        dependencies = config.get(group)
        for value in dependencies.values() if isinstance(dependencies, dict) else ():
            if (
                isinstance(value, str)
                and value.startswith(("file:", "link:", "portal:"))
                and "\0" not in value
            ):
                yield group, value.partition(":")[2].removeprefix("//") or "."


def _is_too_long(file: Path) -> bool:
    try:
        return file.stat().st_size > _LONGEST_CONFIG
    except OSError:
        return False  # `map_of` or the runtime reports it


def _read(file: Path) -> Mapping[str, object]:
    try:
        with file.open("rb") as opened:
            config = parse_jsonc(opened.read(_LONGEST_CONFIG))
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return {}  # `map_of` or the runtime reports an unreadable file
    return config if isinstance(config, dict) else {}
