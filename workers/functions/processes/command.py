"""Command line and environment of a function's process (pure): Deno's permissions, its limits, its variables.

Allowed: reading the function's folder, shared folders and static files; the network, except for denied hosts; reading its
environment; listening on one unix socket. Denied: other files, other programs, native libraries. These permissions are those
of Deno and bind JavaScript only; the kernel's sandbox (`sandbox/`) holds for native code as well.
Source: docs/reference/functions.md, sections 2, 7 and 8.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from schemas.functions.variables import PROXIES
from workers.functions.catalog.registry import HostedFunction
from workers.functions.imports.prepare import PreparedImports

_EVERY_ADDRESS = ("0.0.0.0", "[::]")  # noqa: S104 - denied, not bound
_MOST_LISTED = 2000
"""Entries of one option: the kernel bounds the length of an argument (128 KiB), and each program that listens adds two."""
_SYS = ("hostname", "osRelease", "osUptime", "loadavg", "systemMemoryInfo", "cpus", "uid", "gid")

SOCKET_VARIABLE = "HEADWATER_FUNCTION_SOCKET"
NODE_VARIABLE = "HEADWATER_FUNCTION_NODE"


@dataclass(frozen=True, slots=True)
class Command:
    """A command line with the complete environment of its process."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ProcessPaths:
    """Paths of a process: the program, its cache, the module that runs first, its socket."""

    deno: Path
    cache: Path
    preload: Path
    socket: Path


def build_command(
    function: HostedFunction,
    prepared: PreparedImports,
    paths: ProcessPaths,
    variables: Mapping[str, str],
    *,
    memory_mb: int,
    denied: Iterable[str],
) -> Command:
    """Return the command of a function's process. `denied`: hosts that it must not reach (`host/denied_hosts.py`)."""
    argv = [
        str(paths.deno),
        "run",
        "--quiet",
        "--no-prompt",
        "--no-lock",
        "--node-modules-dir=none",
        *(["--cached-only"] if prepared.is_cached else []),
        *([f"--import-map={prepared.import_map_path}"] if prepared.import_map_path else []),
        f"--config={function.config}" if function.config else "--no-config",
        f"--preload={paths.preload}",
        *_permissions(function, paths, denied),
        *_ignored(variables),
        f"--v8-flags=--max-old-space-size={memory_mb}",
        str(function.entrypoint),
    ]
    internal = {
        "DENO_DIR": str(paths.cache),
        "DENO_NO_UPDATE_CHECK": "1",
        "NO_COLOR": "1",
        SOCKET_VARIABLE: str(paths.socket),
        **({NODE_VARIABLE: "1"} if function.listens_itself else {}),
    }
    return Command(tuple(argv), {**variables, **internal})


def _permissions(function: HostedFunction, paths: ProcessPaths, denied: Iterable[str]) -> list[str]:
    reachable = function.settings.allow_net
    readable = [*map(str, function.readable), str(paths.socket)]
    if reachable is None:
        net = ["--allow-net"]
    elif reachable:
        net = [f"--allow-net={_listed(reachable)}"]
    else:
        net = []
    closed = [*denied, *_EVERY_ADDRESS] if net else []
    net += [
        f"--deny-net={_listed(closed[at : at + _MOST_LISTED])}" for at in range(0, len(closed), _MOST_LISTED)
    ]
    return [
        "--allow-env",
        *net,
        f"--allow-read={_listed(readable)}",
        f"--allow-write={paths.socket}",
        f"--allow-sys={_listed(_SYS)}",
    ]


def _ignored(variables: Mapping[str, str]) -> list[str]:
    """Return the option that hides unset proxy variables, so that a function cannot set a proxy; set ones stay readable."""
    names = [name for name in PROXIES if not variables.get(name)]
    return [f"--ignore-env={_listed(names)}"] if names else []


def _listed(values: Iterable[str]) -> str:
    """Join values in Deno's syntax: a comma inside a value is doubled."""
    return ",".join(value.replace(",", ",,") for value in values)
