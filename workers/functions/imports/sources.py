"""The modules that a function's sources import: followed from the entrypoint through all local files.

    entrypoint --> its import specifiers --> the project's import map --> local files, read next; addresses, collected

Only modules that the entrypoint leads to are read. If an import is computed at run time (`import(name)`), all sources of the
function are read instead, because any of them may be meant.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from workers.functions.imports.boundary import data_source, outside
from workers.functions.imports.import_map import ImportMap, is_relative, local_path
from workers.functions.imports.specifiers import Import, ImportKind, SourceImports, imports_of

_SOURCES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_MOST_SOURCES = 5_000
_LONGEST_SOURCE = 1024 * 1024
_JSX = (".tsx", ".jsx")
_PRAGMA = re.compile(r"@jsxImportSource\s+(\S+)")
_MOST_NESTED = 100
"""Modules in `data:` addresses that are examined for one import."""


@dataclass(frozen=True, slots=True)
class FunctionSources:
    """What a function's modules import: addresses, as the project's import map resolves them."""

    addresses: frozenset[str]
    unknown: frozenset[str]
    missing: frozenset[str]
    """Imported files that do not exist."""
    outside: frozenset[str]
    """Imports of files that the function may not read, each with the importing module."""
    digest: str
    has_jsx: bool
    """The JSX runtime is loaded although no import names it."""


def read_sources(
    start: Path, folder: Path, import_map: ImportMap, roots: Sequence[Path] | None = None
) -> FunctionSources:
    """Follow the imports from the entrypoint through all modules that are files."""
    walk = _Walk(import_map, roots)
    pending, seen = [start], {start}
    digest = hashlib.sha256(f"{start}\0{metadata.version('deno')}\0".encode())
    while pending and len(seen) <= _MOST_SOURCES:
        path = pending.pop()
        text = read_text(path)
        digest.update(f"{path}\0{text}\0".encode(errors="replace"))
        imports = imports_of(text) if path.suffix in _SOURCES else SourceImports(())
        files = list(_sources_below(folder)) if imports.is_open else []
        for item in _loaded_imports(path, text, imports):
            if (local := walk.record(item, path)) is not None:
                files.append(local)
        for file in files:
            if file not in seen and file.is_file():
                seen.add(file)
                pending.append(file)
    return FunctionSources(
        frozenset(walk.addresses),
        frozenset(_without_builtin(walk.unknown)),
        frozenset(walk.missing),
        frozenset(walk.outside),
        digest.hexdigest(),
        has_jsx=any(path.suffix in _JSX for path in seen),
    )


class _Walk:
    """What was recorded of the imports so far."""

    def __init__(self, import_map: ImportMap, roots: Sequence[Path] | None) -> None:
        self._map, self._roots = import_map, roots
        self.addresses: set[str] = set()
        self.unknown: set[str] = set()
        self.missing: set[str] = set()
        self.outside: set[str] = set()

    def record(self, item: Import, path: Path) -> Path | None:
        """Record one import of the module at `path`; return its file if it is a local one that may be read."""
        address = self._map.resolve(item.specifier, path.as_uri())
        is_static = item.kind is ImportKind.STATIC
        if address is None:
            if is_static and not is_relative(item.specifier):
                self.unknown.add(item.specifier)
            return None
        if self._roots is not None and (file := _first_outside(address, self._roots)) is not None:
            self.outside.add(
                f"{path.name} imports {file}: outside of the function's folders, what functions share, and its static_files"
            )
            return None
        local = local_path(address)
        if local is None:
            self.addresses.add(address)
        elif is_static and not local.exists():
            self.missing.add(address)
        return local


def _loaded_imports(path: Path, text: str, imports: SourceImports) -> list[Import]:
    """Return the imports that the runtime loads: without those of types, with the JSX runtime that a comment names."""
    loaded = [item for item in imports.imports if item.kind is not ImportKind.TYPE]
    if path.suffix in _JSX:
        loaded += [Import(f"{source}/jsx-runtime", ImportKind.DYNAMIC) for source in _PRAGMA.findall(text)]
    return loaded


def _first_outside(address: str, roots: Sequence[Path]) -> str | None:
    """Return the file outside of the roots that an address leads to, directly or through modules in `data:` addresses."""
    pending, left = [address], _MOST_NESTED
    while pending and left:
        nested, left = pending.pop(), left - 1
        if (path_outside := outside(nested, roots)) is not None:
            return path_outside
        if (text := data_source(nested)) is not None:
            pending += [item.specifier for item in imports_of(text).imports]
    return None


def _without_builtin(names: Iterable[str]) -> Iterator[str]:
    """Leave out the names of Node's own modules, which the runtime provides."""
    builtin = {"fs", "path", "crypto", "buffer", "stream", "util", "events", "http", "https", "url", "os", "process", "assert",
               "zlib", "querystring", "net", "tls", "dns", "timers", "string_decoder", "async_hooks", "perf_hooks"}  # fmt: skip
    yield from (name for name in names if name.partition("/")[0] not in builtin)


def read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_SOURCE).decode(errors="replace")
    except OSError:
        return ""


def _sources_below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "node_modules" and not name.startswith(".")]
        yield from (Path(parent, name) for name in files if name.endswith(_SOURCES))
