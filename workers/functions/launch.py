"""The command that starts a function's process (pure): its permissions, its limits, its environment.

What it may: read its own folder, what functions share and its static files; reach the network but for the platform's inner parts;
read its environment; listen on its one socket. No other files, no programs, no libraries.
Source: reference page "functions", sections 2, 7 and 8.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from schemas.functions.variables import PROXIES
from workers.functions.imports import Prepared
from workers.functions.registry import Function

_EVERY_ADDRESS = ("0.0.0.0", "[::]")  # noqa: S104 - denied, not bound
_SYS = ("hostname", "osRelease", "osUptime", "loadavg", "systemMemoryInfo", "cpus", "uid", "gid")

SOCKET_VARIABLE = "HEADWATER_FUNCTION_SOCKET"
NODE_VARIABLE = "HEADWATER_FUNCTION_NODE"


@dataclass(frozen=True, slots=True)
class Command:
    """A command line with the whole environment of its process."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process finds things: the program, its cache, the module that runs first, its socket."""

    deno: Path
    cache: Path
    preload: Path
    socket: Path


def command(
    function: Function,
    prepared: Prepared,
    place: Place,
    variables: Mapping[str, str],
    *,
    memory_mb: int,
    denied: Iterable[str],
) -> Command:
    """Give the command of a function's process. `denied` are places that it must not reach (inner.py)."""
    argv = [
        str(place.deno),
        "run",
        "--quiet",
        "--no-prompt",
        "--no-lock",
        "--node-modules-dir=none",
        *(["--cached-only"] if prepared.is_cached else []),
        *([f"--import-map={prepared.import_map_path}"] if prepared.import_map_path else []),
        f"--config={function.config}" if function.config else "--no-config",
        f"--preload={place.preload}",
        *_permissions(function, place, denied),
        *_ignored(variables),
        f"--v8-flags=--max-old-space-size={memory_mb}",
        str(function.entrypoint),
    ]
    internal = {
        "DENO_DIR": str(place.cache),
        "DENO_NO_UPDATE_CHECK": "1",
        "NO_COLOR": "1",
        SOCKET_VARIABLE: str(place.socket),
        **({NODE_VARIABLE: "1"} if function.listens_itself else {}),
    }
    return Command(tuple(argv), {**variables, **internal})


def _permissions(function: Function, place: Place, denied: Iterable[str]) -> list[str]:
    reachable = function.settings.allow_net
    readable = [*map(str, function.readable), str(place.socket)]
    if reachable is None:
        net = ["--allow-net"]
    elif reachable:
        net = [f"--allow-net={_listed(reachable)}"]
    else:
        net = []
    if net:
        net.append(f"--deny-net={_listed([*denied, *_EVERY_ADDRESS])}")
    return [
        "--allow-env",
        *net,
        f"--allow-read={_listed(readable)}",
        f"--allow-write={place.socket}",
        f"--allow-sys={_listed(_SYS)}",
    ]


def _ignored(variables: Mapping[str, str]) -> list[str]:
    """Return the option by which a function cannot name a proxy; those that the environment names stay readable."""
    names = [name for name in PROXIES if not variables.get(name)]
    return [f"--ignore-env={_listed(names)}"] if names else []


def _listed(values: Iterable[str]) -> str:
    """Join values as Deno takes them: a comma inside one is doubled."""
    return ",".join(value.replace(",", ",,") for value in values)
