"""The modules that a function's sources import: followed from the entrypoint through all local files.

    entrypoint --> its import specifiers --> the project's import map --> local files, read next; addresses, collected

Only modules that the entrypoint leads to are read. If an import is computed at run time (`import(name)`), all sources of the
function are read instead, because any of them may be meant. What is not examined, because there is too much of it, is reported:
such a function starts without `--cached-only`, as modules may be missing in the cache.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from schemas.functions.folder import LEFT_OUT, LONGEST_SOURCE, SOURCES
from workers.functions.imports.boundary import data_source, outside
from workers.functions.imports.import_map import ImportMap, is_relative, local_path
from workers.functions.imports.specifiers import Import, ImportKind, SourceImports, imports_of

MOST_SOURCES = 5_000
MOST_BYTES = 32 * 1024 * 1024
"""Bytes of all sources of a function that are examined; each MiB takes about a second."""
NODE_MODULES = frozenset({
    "_http_agent", "_http_common", "_http_outgoing", "_http_server", "_stream_duplex", "_stream_passthrough",
    "_stream_readable", "_stream_transform", "_stream_writable", "_tls_common", "_tls_wrap", "assert",
    "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
    "diagnostics_channel", "dns", "dns/promises", "domain", "events", "fs", "fs/promises", "http", "http2", "https",
    "inspector", "inspector/promises", "module", "net", "os", "path", "path/posix", "path/win32", "perf_hooks",
    "process", "punycode", "querystring", "readline", "readline/promises", "repl", "stream", "stream/consumers",
    "stream/promises", "stream/web", "string_decoder", "sys", "timers", "timers/promises", "tls", "trace_events",
    "tty", "url", "util", "util/types", "v8", "vm", "wasi", "worker_threads", "zlib",
})  # fmt: skip
"""Node's own modules that the runtime provides without the prefix `node:` (`builtinModules` of `node:module`)."""
_JSX = (".tsx", ".jsx")
_PRAGMA = re.compile(r"@jsxImportSource\s+(\S+)")
_MOST_NESTED = 100
"""Modules in `data:` addresses that are examined for one import."""


@dataclass(frozen=True, slots=True)
class FunctionSources:
    """What a function's modules import: addresses, as the project's import map resolves them."""

    addresses: frozenset[str]
    unknown: frozenset[str]
    """Bare names that neither the import map nor the runtime knows."""
    missing: frozenset[str]
    """Imported files that do not exist."""
    outside: frozenset[str]
    """Imports of files that the function may not read, each with the importing module."""
    digest: str
    """Changes with the path or the content of any examined file, and with the version of the runtime."""
    has_jsx: bool
    """The JSX runtime is loaded although no import names it."""
    unexamined: tuple[str, ...] = ()
    """What was not examined, one sentence each; empty if the other fields are complete."""


def read_sources(
    start: Path, folder: Path, import_map: ImportMap, roots: Sequence[Path] | None = None
) -> FunctionSources:
    """Follow the imports from the entrypoint through all modules that are files.

    At most `MOST_SOURCES` files, `LONGEST_SOURCE` bytes of a file and `MOST_BYTES` of all are examined.
    """
    walk = _Walk(import_map, roots)
    imported, others, examined = [start], list[Path](), set[Path]()
    digest = hashlib.sha256(f"{start}\0{metadata.version('deno')}\0".encode())
    unexamined: list[str] = []
    left, has_listed_all = MOST_BYTES, False
    while imported or others:
        path = (imported or others).pop()  # a file that may be meant comes after all that are imported
        if path in examined or not path.is_file():
            continue
        if len(examined) == MOST_SOURCES:
            unexamined.append(f"it has more than {MOST_SOURCES:,} sources; the rest was not examined")
            break
        if left <= 0:
            unexamined.append(f"its sources have more than {MOST_BYTES >> 20} MiB; the rest was not examined")
            break
        limit = min(LONGEST_SOURCE, left)
        text, is_whole = _read(path, limit)
        examined.add(path)
        left -= len(text)
        if not is_whole and limit == LONGEST_SOURCE:
            unexamined.append(f"{path.name} is too long; only its first {len(text):,} bytes were examined")
        elif not is_whole:
            unexamined.append(
                f"its sources have more than {MOST_BYTES >> 20} MiB; the rest of {path.name} was not examined"
            )
        digest.update(f"{path}\0{len(text)}\0".encode(errors="replace") + text)
        source = text.decode(errors="replace")
        imports = imports_of(source) if path.suffix in SOURCES else SourceImports(())
        if imports.is_open and not has_listed_all:
            others, has_listed_all = list(_sources_below(folder)), True
        for item in _loaded_imports(path, source, imports):
            if (local := walk.record(item, path)) is not None:
                imported.append(local)
    return FunctionSources(
        frozenset(walk.addresses),
        frozenset(walk.unknown - NODE_MODULES),
        frozenset(walk.missing),
        frozenset(walk.outside),
        digest.hexdigest(),
        has_jsx=any(path.suffix in _JSX for path in examined),
        unexamined=tuple(unexamined),
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


def read_text(path: Path) -> str:
    """Return the text of a file, its first `LONGEST_SOURCE` bytes; "" if it cannot be read."""
    return _read(path, LONGEST_SOURCE)[0].decode(errors="replace")


def _read(path: Path, limit: int) -> tuple[bytes, bool]:
    """Return at most `limit` bytes of a file, and whether that is all of it; an unreadable file is an empty one."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError:
        return b"", True
    return content[:limit], len(content) <= limit


def _sources_below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        yield from (Path(parent, name) for name in files if name.endswith(SOURCES))
