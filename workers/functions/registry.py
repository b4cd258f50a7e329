"""The functions of a project, as values: a folder and the settings in, `Function`s by name out.

    functions/<name>/index.ts        a function; what begins with `_` or a dot is none
    functions/_shared, lib, x.ts     what functions share: folders that are no function, sources beside them
    functions/.env                   variables of all functions
    [functions.<name>]               settings of one, which may have its entrypoint elsewhere

A version is a digest of everything that makes a running process wrong when it changes: the files of the function and the
shared ones by size and time, the configuration files of all functions, the settings and the variables.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from schemas.functions.folder import LEFT_OUT, SOURCES, entrypoint_in, shared_in
from schemas.functions.variables import variable_fault
from schemas.keys.secret import Secret
from schemas.settings.dotenv import parse_dotenv
from schemas.settings.functions import EdgeRuntime, FunctionSettings

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
MOST_FILES = 20_000
"""Files of one function, or of a shared folder, that are looked at."""

_CONFIGS = ("deno.json", "deno.jsonc")
_IMPORT_MAPS = (*_CONFIGS, "import_map.json")
_OF_ALL = (*_IMPORT_MAPS, "package.json", ".npmrc", ".env")
_LISTENS = re.compile(rb"\.\s*listen\s*\(")
_LONGEST_SOURCE = 1024 * 1024
_UNSET = re.compile(r"env\(\w+\)")

Mark = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Function:
    """One function as it is now. `env` holds what the project sets; the platform's variables come at its start."""

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
    """The deno.json that it is run with."""
    static_files: tuple[Path, ...] = ()
    shared: tuple[Path, ...] = ()
    """Folders and sources that it may import beside its own."""
    listens_itself: bool = False
    """Its sources call `.listen(`: they may use the server of Node.js."""

    @property
    def readable(self) -> tuple[Path, ...]:
        """What its process may read."""
        return (self.folder, *self.shared, *self.static_files)


def read_functions(
    root: Path, named: Mapping[str, FunctionSettings], runtime: EdgeRuntime, secrets: Mapping[str, str]
) -> tuple[dict[str, Function], list[str]]:
    """Give the functions of a folder by name, those switched off left out, and what is to be told.

    `secrets` are variables kept by the platform; they win over those of files.
    """
    warnings: list[str] = []
    shared_env = _shared_env(root, runtime, secrets, warnings)
    of_all = [mark for name in _OF_ALL if (mark := _mark(root / name)) is not None]
    shared = tuple(shared_in(root, named))
    of_all += [mark for path in shared for mark in _marks_of(path)]
    found: dict[str, Function] = {}
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
        found[name] = _function(root, name, settings, entrypoint, env, shared, of_all)
    return found, warnings


def has_functions(root: Path) -> bool:
    """Tell whether a folder holds a function."""
    return next(_names(root), None) is not None


def _function(
    root: Path,
    name: str,
    settings: FunctionSettings,
    entrypoint: Path,
    env: dict[str, str],
    shared: tuple[Path, ...],
    around: list[Mark],
) -> Function:
    own = entrypoint.parent.is_relative_to(root / name)
    folder = root / name if own else entrypoint.parent
    import_map = _import_map(root, folder, settings)
    static = tuple(_static_files(root.parent, settings.static_files))
    marks = [*around, *_marks(folder), *(mark for each in static if (mark := _mark(each)) is not None)]
    if import_map is not None and (mark := _mark(import_map)) is not None:
        marks.append(mark)
    config = next((folder / each for each in _CONFIGS if (folder / each).is_file()), None)
    return Function(
        name=name,
        version=_version(marks, settings, env),
        entrypoint=entrypoint,
        import_map=import_map,
        folder=folder,
        settings=settings,
        env=env,
        root=root,
        config=config or next((root / each for each in _CONFIGS if (root / each).is_file()), None),
        static_files=static,
        shared=shared,
        listens_itself=any(_listens(folder, marks)) or any(_listens(root, around)),
    )


def _version(marks: list[Mark], settings: FunctionSettings, env: Mapping[str, str]) -> str:
    kept = msgspec.structs.replace(settings, env={})
    digest = hashlib.sha256(repr((sorted(marks), kept, sorted(env.items()))).encode())
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
    candidates = [*(folder / each for each in _IMPORT_MAPS), root / "import_map.json", root / "deno.json"]
    return next((path for path in candidates if path.is_file()), None)


def _static_files(base: Path, patterns: list[str]) -> Iterator[Path]:
    for pattern in patterns:
        relative = pattern.removeprefix("./")
        if not relative or Path(relative).is_absolute():
            continue
        for found in sorted(base.glob(relative)):
            yield Path(os.path.abspath(found))


def _shared_env(
    root: Path, runtime: EdgeRuntime, secrets: Mapping[str, str], warnings: list[str]
) -> dict[str, str]:
    file = root / ".env"
    from_file: dict[str, str] = {}
    if file.is_file():
        try:
            from_file, told = parse_dotenv(file.read_text(errors="replace"), str(file))
            warnings += told
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


def _marks(folder: Path) -> Iterator[Mark]:
    """Give what tells one state of a folder's files from another."""
    count, open_folders = 0, [str(folder)]
    while open_folders:
        try:
            entries = list(os.scandir(open_folders.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name in LEFT_OUT or (entry.name.startswith(".") and entry.name not in _OF_ALL):
                continue
            try:
                if entry.is_dir():
                    open_folders.append(entry.path)
                    continue
                state = entry.stat()
            except OSError:
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield entry.path, state.st_size, state.st_mtime_ns, state.st_ino


def _marks_of(path: Path) -> Iterator[Mark]:
    """Give the marks of a folder's files, or of a file."""
    if path.is_dir():
        yield from _marks(path)
    elif (mark := _mark(path)) is not None:
        yield mark


def _mark(path: Path) -> Mark | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return str(path), state.st_size, state.st_mtime_ns, state.st_ino


_listening: dict[Mark, bool] = {}
_MOST_REMEMBERED = 50_000


def _listens(folder: Path, marks: list[Mark]) -> Iterator[bool]:
    """Say of each source of a folder whether it opens a server of its own; each state of a file is read once."""
    start = f"{folder}{os.sep}"
    for mark in marks:
        path = mark[0]
        if not path.startswith(start) or not path.endswith(SOURCES):
            continue
        if mark not in _listening:
            if len(_listening) > _MOST_REMEMBERED:
                _listening.clear()
            _listening[mark] = _file_listens(path)
        yield _listening[mark]


def _file_listens(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return _LISTENS.search(file.read(_LONGEST_SOURCE)) is not None
    except OSError:
        return False
