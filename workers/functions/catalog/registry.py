"""The functions of a project as values: a folder and settings in, `HostedFunction`s by name out.

    functions/<name>/index.ts        a function; names that begin with `_` or a dot are not functions
    functions/_shared, lib, x.ts     shared by functions: folders without an entrypoint, and source files beside them
    functions/.env                   variables of all functions; not of a branch's, whose parent's they are
    [functions.<name>]               settings of one function, whose entrypoint may be elsewhere

The version of a function is a digest of everything whose change makes its running processes outdated: the files of the
function and the shared files (path, size, time, inode), the configuration files of all functions, settings and variables.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from schemas.functions.folder import entrypoint_in, shared_in
from schemas.functions.variables import variable_fault
from schemas.keys.secret import Secret
from schemas.settings.cleared import cleared_keys
from schemas.settings.dotenv import parse_dotenv
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.catalog.file_marks import (
    CONFIGURATION,
    Mark,
    listening_sources,
    mark_of,
    marks_in,
    marks_of,
)

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")

_CONFIGS = ("deno.json", "deno.jsonc")
_IMPORT_MAPS = (*_CONFIGS, "import_map.json")
_UNSET = re.compile(r"env\(\w+\)")


@dataclass(frozen=True, slots=True)
class HostedFunction:
    """One function as it is now. `env`: variables of the project; the platform's are added when a process starts."""

    name: str
    version: str
    entrypoint: Path
    import_map: Path | None
    folder: Path
    settings: FunctionSettings
    env: Mapping[str, str] = field(repr=False)
    root: Path
    """The folder of all functions."""
    config: Path | None = None
    """The deno.json that it runs with."""
    static_files: tuple[Path, ...] = ()
    shared: tuple[Path, ...] = ()
    """Folders and source files outside of its own folder that it may import."""
    listens_itself: bool = False
    """Its sources call `.listen(`, so they may use Node's HTTP server."""

    @property
    def readable(self) -> tuple[Path, ...]:
        """What its process may read."""
        return (self.folder, *self.shared, *self.static_files)


def read_functions(
    root: Path, named: Mapping[str, FunctionSettings], runtime: EdgeRuntime, secrets: Mapping[str, str]
) -> tuple[dict[str, HostedFunction], list[str]]:
    """Return the functions of a folder by name, without disabled ones, and warnings.

    `secrets` are variables that the platform stores; they replace those of files.
    """
    warnings: list[str] = []
    shared_env = _shared_env(root, runtime, secrets, warnings)
    of_all = [mark for name in CONFIGURATION if (mark := mark_of(root / name)) is not None]
    shared = tuple(shared_in(root, named))
    of_all += [mark for path in shared for mark in marks_of(path)]
    functions: dict[str, HostedFunction] = {}
    for name in sorted({*_names(root), *named}):
        settings = named.get(name, FunctionSettings())
        if not settings.enabled:
            continue
        if not NAME.fullmatch(name):
            warnings.append(f"a function cannot be named {name!r}: letters, digits, - and _, a letter first")
            continue
        entrypoint = _entrypoint(root, name, settings)
        if entrypoint is None:
            if name in named:
                warnings.append(
                    f"function {name} has no entrypoint: {settings.entrypoint or 'index.ts'} is missing"
                )
            continue
        env = shared_env | _revealed(settings.env)
        functions[name] = _function(root, name, settings, entrypoint, env, shared, of_all)
    return functions, warnings


def _function(
    root: Path,
    name: str,
    settings: FunctionSettings,
    entrypoint: Path,
    env: dict[str, str],
    shared: tuple[Path, ...],
    common_marks: list[Mark],
) -> HostedFunction:
    is_inside = entrypoint.parent.is_relative_to(root / name)
    folder = root / name if is_inside else entrypoint.parent
    import_map = _import_map(root, folder, settings)
    static = tuple(_static_files(root.parent, settings.static_files))
    marks = [
        *common_marks,
        *marks_in(folder),
        *(mark for file in static if (mark := mark_of(file)) is not None),
    ]
    if import_map is not None and (mark := mark_of(import_map)) is not None:
        marks.append(mark)
    config = _config(folder) or _config(root)
    return HostedFunction(
        name=name,
        version=_version(marks, settings, env),
        entrypoint=entrypoint,
        import_map=import_map,
        folder=folder,
        settings=settings,
        env=env,
        root=root,
        config=config,
        static_files=static,
        shared=shared,
        listens_itself=any(listening_sources(folder, marks)) or any(listening_sources(root, common_marks)),
    )


def _version(marks: list[Mark], settings: FunctionSettings, env: Mapping[str, str]) -> str:
    without_env = msgspec.structs.replace(settings, env={})
    digest = hashlib.sha256(repr((sorted(marks), without_env, sorted(env.items()))).encode())
    return digest.hexdigest()[:12]


def _names(root: Path) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if (
            NAME.fullmatch(entry.name)
            and entry.is_dir()
            and _entrypoint(root, entry.name, FunctionSettings())
        ):
            yield entry.name


def _entrypoint(root: Path, name: str, settings: FunctionSettings) -> Path | None:
    if settings.entrypoint:
        path = Path(os.path.abspath(root.parent / settings.entrypoint))
        return path if path.is_file() else None
    return entrypoint_in(root / name)


def _import_map(root: Path, folder: Path, settings: FunctionSettings) -> Path | None:
    if settings.import_map:
        return Path(os.path.abspath(root.parent / settings.import_map))
    candidates = [*(folder / file for file in _IMPORT_MAPS), root / "import_map.json", root / "deno.json"]
    return next((path for path in candidates if path.is_file()), None)


def _config(folder: Path) -> Path | None:
    return next((path for name in _CONFIGS if (path := folder / name).is_file()), None)


def _static_files(base: Path, patterns: list[str]) -> Iterator[Path]:
    for pattern in patterns:
        relative = pattern.removeprefix("./")
        if not relative or Path(relative).is_absolute():
            continue
        for path in sorted(base.glob(relative)):
            yield Path(os.path.abspath(path))


def _shared_env(
    root: Path, runtime: EdgeRuntime, secrets: Mapping[str, str], warnings: list[str]
) -> dict[str, str]:
    file = root / ".env"
    from_file: dict[str, str] = {}
    if file.is_file() and not cleared_keys(os.environ).has("edge_runtime.secrets"):
        try:
            from_file, file_warnings = parse_dotenv(file.read_text(errors="replace"), str(file))
            warnings += file_warnings
        except OSError as error:
            warnings.append(f"{file} cannot be read: {error.strerror}")
    merged = from_file | _revealed(runtime.secrets) | dict(secrets)
    for name, value in list(merged.items()):
        if fault := variable_fault(name, value):
            warnings.append(f"the variable {name} of functions is left out: {fault}")
            del merged[name]
    return merged


def _revealed(values: Mapping[str, Secret]) -> dict[str, str]:
    texts = {name: value.reveal() for name, value in values.items()}
    return {name: text for name, text in texts.items() if not _UNSET.search(text) and "\0" not in text}
