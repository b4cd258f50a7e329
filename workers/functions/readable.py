"""What a function's processes may use of the file system and of TCP, as rules for the kernel (`landlock.py`).

    at work     the machine's libraries and certificates, its folders, its cache, the notes about its imports: to read
    fetching    the same, the configuration of packages, and the cache to write (`deno cache`)

At work nothing can be written but what the runtime makes of the function's own sources, in its own cache: some files while
it starts, none later (`listener.py`), and short ones. What a function keeps, it keeps in the database or in storage.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from workers.functions.imports import Prepared
from workers.functions.landlock import CHANGE, READ, Access, Rules
from workers.functions.places import Places
from workers.functions.registry import Function
from workers.functions.system_files import OWN

_PACKAGES = ("package.json", ".npmrc", "deno.json", "deno.jsonc", "import_map.json")
_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):(\d{1,5})")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")
_DNS = 53


def roots_of(function: Function) -> tuple[Path, ...]:
    """Return what a function's modules may be: its folder, what functions share, its static files, its configuration."""
    single = [
        function.entrypoint,
        *(each for each in (function.config, function.import_map) if each is not None),
    ]
    return (*function.readable, *single)


def rules_at_work(
    places: Places,
    function: Function,
    prepared: Prepared,
    environment: Mapping[str, str],
    own: Path | None,
    *,
    compiles: bool = False,
) -> Rules:
    """Return the rules of a process. `own` is the folder in which it makes its socket, where that is not handed in.

    `compiles`: it may write its cache; only with the gate, which counts the files.
    """
    named = [prepared.import_map_path] if prepared.import_map_path else []
    readable = [
        *roots_of(function),
        places.cache(function.name),
        places.notes(function.name),
        places.preload,
        *named,
    ]
    made = [(own, READ | Access.MAKE_SOCK)] if own is not None else []
    if compiles:
        made.append((places.cache(function.name), CHANGE))
    return Rules(
        (*places.system, *_readable(readable, places), *made),
        _ports(function.settings.allow_net, environment),
        OWN,
    )


def rules_for_fetching(places: Places, function: Function, proxy: int | None) -> Rules:
    """Return the rules of the program that fetches a function's modules. `proxy` is the only port that it connects to."""
    configuration = [function.root / name for name in _PACKAGES]
    readable = [*roots_of(function), *configuration, places.notes(function.name), places.preload]
    cache = places.cache(function.name)
    return Rules(
        (*places.system, *_readable(readable, places), (cache, CHANGE)),
        None if proxy is None else frozenset({proxy}),
        OWN,
    )


def _readable(paths: list[Path], places: Places) -> Iterator[tuple[Path, Access]]:
    """Give the right to read paths, but for one that holds the platform's own folder: its passwords lie there."""
    platform = Path(os.path.realpath(places.home))
    for path in dict.fromkeys(paths):
        real = Path(os.path.realpath(path))
        if not platform.is_relative_to(real):
            yield real, READ


def _ports(reachable: list[str] | None, environment: Mapping[str, str]) -> frozenset[int] | None:
    """Return the ports that the kernel lets through; None for all: where a host is named without one, or by a proxy."""
    if reachable is None or any(environment.get(name) for name in _PROXIES):
        return None
    found = [_PORT.fullmatch(each) for each in reachable]
    if not all(found):
        return None
    ports = {int(each[1]) for each in found if each is not None}
    return frozenset(port for port in {*ports, *([_DNS] if ports else [])} if 0 < port < 65536)
