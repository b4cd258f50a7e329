"""What a function's processes may use of the file system and of TCP, as Landlock rules (`sandbox/landlock.py`).

    running     read: system libraries and certificates, the function's folders, its cache, the notes about its imports
    fetching    the same, and package configuration to read, and the cache to write (`deno cache`)

A running process can write nothing but the runtime's compiled copies of its own sources, in its own cache, and only short
files, while it starts (`sandbox/socket_handover.py` counts them). Functions store data in the database or in storage.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.host import FunctionHost
from workers.functions.sandbox.landlock import CHANGE, READ, Access, LandlockRules
from workers.functions.sandbox.system_files import OWN

_PACKAGES = ("package.json", ".npmrc", "deno.json", "deno.jsonc", "import_map.json")
_PORT = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):(\d{1,5})")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")
_DNS = 53


def roots_of(function: HostedFunction) -> tuple[Path, ...]:
    """Return where a function's modules may lie: its folder, shared folders, its static files, its configuration."""
    single = [
        function.entrypoint,
        *(file for file in (function.config, function.import_map) if file is not None),
    ]
    return (*function.readable, *single)


def rules_for_running(
    host: FunctionHost,
    function: HostedFunction,
    import_map: Path | None,
    environment: Mapping[str, str],
    socket_folder: Path | None,
    *,
    compiles: bool = False,
) -> LandlockRules:
    """Return the rules of a process. `socket_folder`: where it creates its socket, if the socket is not handed over.

    `compiles`: it may write its cache; only with the seccomp gate, which counts the files.
    """
    maps = [import_map] if import_map else []
    readable = [
        *roots_of(function),
        host.cache(function.name),
        host.notes(function.name),
        host.preload,
        *maps,
    ]
    writable = [(socket_folder, READ | Access.MAKE_SOCK)] if socket_folder is not None else []
    if compiles:
        writable.append((host.cache(function.name), CHANGE))
    return LandlockRules(
        (*host.system, *_readable(readable, host), *writable),
        _ports(function.settings.allow_net, environment),
        OWN,
    )


def rules_for_fetching(host: FunctionHost, function: HostedFunction, proxy: int | None) -> LandlockRules:
    """Return the rules of the program that fetches a function's modules. `proxy`: the only port it may connect to."""
    configuration = [function.root / name for name in _PACKAGES]
    readable = [*roots_of(function), *configuration, host.notes(function.name), host.preload]
    cache = host.cache(function.name)
    return LandlockRules(
        (*host.system, *_readable(readable, host), (cache, CHANGE)),
        None if proxy is None else frozenset({proxy}),
        OWN,
    )


def _readable(paths: list[Path], host: FunctionHost) -> Iterator[tuple[Path, Access]]:
    """Yield the right to read paths, except for one that contains the platform's own folder: its passwords are there."""
    platform = Path(os.path.realpath(host.home))
    for path in dict.fromkeys(paths):
        real = Path(os.path.realpath(path))
        if not platform.is_relative_to(real):
            yield real, READ


def _ports(reachable: list[str] | None, environment: Mapping[str, str]) -> frozenset[int] | None:
    """Return the TCP ports that Landlock allows; None for all ports: if a host is listed without a port, or for a proxy."""
    if reachable is None or any(environment.get(name) for name in _PROXIES):
        return None
    matches = [_PORT.fullmatch(address) for address in reachable]
    if not all(matches):
        return None
    ports = {int(match[1]) for match in matches if match is not None}
    return frozenset(port for port in {*ports, *([_DNS] if ports else [])} if 0 < port < 65536)
