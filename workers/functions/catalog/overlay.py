"""What takes precedence over the project's folder: deployed functions, stored secrets, and a `functions serve` session.

    functions of the folder  <  deployed ones of the same name      variables of files  <  secrets  <  variables of a session

A deployed function brings its settings. Two things stay the server's: the variables that its `config.toml` sets for the
function, and access to the database, which a bundle may give up but not request.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from schemas.functions.deployments import ServeSession
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.catalog.registry import HostedFunction, read_functions


@dataclass(frozen=True, slots=True)
class UnpackedVersion:
    """A deployed version that is unpacked on this machine. `root` is its folder of functions."""

    name: str
    number: int
    sha256: str
    at: float
    root: Path
    settings: FunctionSettings
    size: int = 0
    """Bytes of its bundle."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Everything that does not come from the project's folder."""

    unpacked: Mapping[str, UnpackedVersion] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: ServeSession | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()


def read_with_overlay(
    root: Path, named: Mapping[str, FunctionSettings], runtime: EdgeRuntime, overlay: Overlay
) -> tuple[dict[str, HostedFunction], list[str]]:
    """Return all functions by name as they are to run, and warnings."""
    functions, warnings = read_functions(root, named, runtime, overlay.secrets)
    for name, unpacked in overlay.unpacked.items():
        functions.pop(name, None)
        settings = _merge_settings(named.get(name, FunctionSettings()), unpacked.settings)
        deployed, new_warnings = read_functions(unpacked.root, {name: settings}, runtime, overlay.secrets)
        warnings += [warning for warning in new_warnings if warning not in warnings]
        if name in deployed:
            function = deployed[name]
            functions[name] = replace(function, version=f"v{unpacked.number}-{function.version}")
    if overlay.session is not None:
        functions = {name: _in_session(function, overlay.session) for name, function in functions.items()}
    return functions, [*warnings, *overlay.warnings]


def _merge_settings(server: FunctionSettings, deployed: FunctionSettings) -> FunctionSettings:
    """Return the settings of a deployed function: those of its bundle, except for what the server decides."""
    database = False if deployed.database is False else server.database
    return msgspec.structs.replace(deployed, env=server.env, database=database)


def _in_session(function: HostedFunction, session: ServeSession) -> HostedFunction:
    settings = function.settings
    if session.verify_jwt is not None:
        settings = msgspec.structs.replace(settings, verify_jwt=session.verify_jwt)
    env = {**function.env, **session.env}
    mark = hashlib.sha256(repr((sorted(session.env.items()), session.verify_jwt)).encode()).hexdigest()[:8]
    return replace(function, settings=settings, env=env, version=f"{function.version}-{mark}")
