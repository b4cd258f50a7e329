"""What lies over the project's folder: deployed functions, kept secrets, and what `functions serve` asks for.

    functions of the folder  <  deployed ones of the same name      variables of files  <  secrets  <  those of a session

A deployed function brings its settings along; the variables that the server's `config.toml` gives it stay, and so does
whether it may use the database, which it can give up and not ask for.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from schemas.functions.deployments import ServeSession
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.registry import Function, read_functions


@dataclass(frozen=True, slots=True)
class Laid:
    """A deployed version that is unpacked here. `root` is its folder of functions."""

    name: str
    number: int
    sha256: str
    at: float
    root: Path
    settings: FunctionSettings


@dataclass(frozen=True, slots=True)
class Overlay:
    """Everything that does not come from the project's folder."""

    laid: Mapping[str, Laid] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: ServeSession | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()


def read_all(
    root: Path, named: Mapping[str, FunctionSettings], runtime: EdgeRuntime, overlay: Overlay
) -> tuple[dict[str, Function], list[str]]:
    """Give all functions by name as they are to be run, and what is to be told."""
    found, warnings = read_functions(root, named, runtime, overlay.secrets)
    for name, laid in overlay.laid.items():
        found.pop(name, None)
        own = _held_to(named.get(name, FunctionSettings()), laid.settings)
        deployed, told = read_functions(laid.root, {name: own}, runtime, overlay.secrets)
        warnings += [each for each in told if each not in warnings]
        if name in deployed:
            function = deployed[name]
            found[name] = replace(function, version=f"v{laid.number}-{function.version}")
    if overlay.session is not None:
        found = {name: _in_session(function, overlay.session) for name, function in found.items()}
    return found, [*warnings, *overlay.warnings]


def _held_to(own: FunctionSettings, brought: FunctionSettings) -> FunctionSettings:
    """Give the settings of a deployed function: what it brought, but for what is the server's to say."""
    database = False if brought.database is False else own.database
    return msgspec.structs.replace(brought, env=own.env, database=database)


def _in_session(function: Function, session: ServeSession) -> Function:
    settings = function.settings
    if session.verify_jwt is not None:
        settings = msgspec.structs.replace(settings, verify_jwt=session.verify_jwt)
    env = {**function.env, **session.env}
    mark = hashlib.sha256(repr((sorted(session.env.items()), session.verify_jwt)).encode()).hexdigest()[:8]
    return replace(function, settings=settings, env=env, version=f"{function.version}-{mark}")
