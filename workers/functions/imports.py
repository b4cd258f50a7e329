"""The imports of a function: what it loads from elsewhere, from where that comes here, and all of it fetched beforehand.

    sources --> specifiers --> the project's own map --> hosts that cannot be reached are rewritten --> one map
    map + entrypoint --> `deno cache`, once for each state of both --> the process starts with --cached-only

Only modules that the entrypoint leads to are read; where an import is computed, all sources of the function are. A
function that names nothing from elsewhere costs the reading of its sources, and no process. What cannot be fetched is no
end: the function is started all the same, and says itself what it lacks.
"""

import contextlib
import hashlib
import importlib.resources
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import deno  # type: ignore[import-untyped]  # one function, which gives a path
import msgspec

from schemas.functions.folder import entrypoint_in
from schemas.settings.functions import FunctionSettings
from workers.functions.boundary import config_faults, data_source, outside, real_roots
from workers.functions.import_map import ImportMap, is_relative, local_path, map_of
from workers.functions.reach import Reach
from workers.functions.rewrites import SHIM, host_of, rewritten
from workers.functions.specifiers import Import, Imports, Kind, imports_of

FETCH_S = 120.0
"""Seconds that fetching the modules of one function may take."""
_OWN = "headwater"
_SOURCES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_CONFIGS = ("deno.json", "deno.jsonc")
_MOST_SOURCES = 5_000
_LONGEST_SOURCE = 1024 * 1024
_PASSED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "LD_LIBRARY_PATH",
           "NPM_CONFIG_REGISTRY", "DENO_CERT", "DENO_TLS_CA_STORE")  # fmt: skip
_JSX = (".tsx", ".jsx")
_PRAGMA = re.compile(r"@jsxImportSource\s+(\S+)")
_BUILT_IN = ("node:", "file:", "data:", "blob:", "ext:")
_LONGEST_FAILURE = 2_000
_MOST_NESTED = 100
"""Modules written in addresses that are looked into, for one import."""


@dataclass(frozen=True, slots=True)
class FetchWalls:
    """What holds the program that fetches: a call for the child, and variables, as of a proxy."""

    enter: Callable[[], None]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


Sandbox = Callable[[], AbstractContextManager[FetchWalls]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """How a function's imports are resolved. `is_cached`: everything is there, no registry is asked."""

    import_map_path: Path | None = None
    warnings: tuple[str, ...] = ()
    is_cached: bool = False
    failure: str = ""
    """What could not be fetched, in the words of the runtime; or why it must not be run."""
    is_refused: bool = False
    """It names files that it may not read: it is not run."""


@dataclass(frozen=True, slots=True)
class _Sources:
    """What a function's modules import: addresses as the project's map gives them."""

    addresses: frozenset[str]
    unknown: frozenset[str]
    missing: frozenset[str]
    """Files that are named and not there."""
    outside: frozenset[str]
    """Imports of files that the function may not read, each with the module that names it."""
    digest: str
    has_jsx: bool
    """What JSX stands for is loaded without being named."""


def prepare(
    function_folder: Path,
    settings: FunctionSettings,
    cache_dir: Path,
    *,
    entrypoint: Path | None = None,
    config: Path | None = None,
    program: Path | None = None,
    offline: bool = False,
    thorough: bool = False,
    reach: Reach | None = None,
    notes: Path | None = None,
    roots: Sequence[Path] | None = None,
    sandbox: Sandbox | None = None,
    preload: Path | None = None,
) -> Prepared:
    """Settle the imports of a function and fetch what they name. Blocks; `cache_dir` is the runtime's (DENO_DIR).

    `offline`: no host is asked, all that can be rewritten is. `thorough`: the runtime reads the sources also where nothing
    is to be fetched, so that a fault in them is found. `notes`: folder of what is found out here; unset, below the cache.
    `roots`: where its modules may lie; unset, anywhere. `sandbox`: walls of the program that fetches.
    `preload`: the module that runs first; with it all modules are compiled here, for the process itself cannot keep what it
    compiles, and waits in vain for that (the runtime tries to write for 150 ms).
    """
    notes = notes or cache_dir / _OWN
    root = _root_of(function_folder, settings)
    begin = entrypoint or _entrypoint(function_folder, root, settings)
    if begin is None:
        return Prepared(warnings=("it has no entrypoint",))
    own, warnings = map_of(function_folder, root, settings)
    allowed = None if roots is None else real_roots(roots)
    sources = _read(begin, function_folder, own, allowed)
    if faults := _faults(sources, function_folder, root, config, allowed):
        return Prepared(warnings=tuple(warnings), failure="\n".join(faults), is_refused=True)
    reach = reach or Reach(notes / "hosts.json")
    made, told = _rewritten(own, sources, reach, notes, offline=offline)
    warnings += told + [f"nothing is known of the import {name!r}" for name in sorted(sources.unknown)]
    if sources.missing:
        lacking = "\n".join(f"there is no module {each}" for each in sorted(sources.missing))
        return Prepared(_write_map(made, notes), tuple(warnings), failure=lacking)
    fetch = _Fetch(
        cache_dir,
        notes,
        program or Path(deno.find_deno_bin()),
        begin,
        config or _config(function_folder, root),
        sandbox,
        preload,
    )
    map_path = _write_map(made, notes)
    is_elsewhere = any(_is_elsewhere(made.resolve(each, "") or each) for each in sources.addresses)
    if not thorough and not sources.has_jsx and not is_elsewhere:
        if preload is not None:
            fetch.run(map_path, sources.digest)  # where it fails, the process has the better words for it
        return Prepared(map_path, tuple(warnings), is_cached=not sources.unknown)
    failure = fetch.run(map_path, sources.digest)
    lost = sorted({host for each in sources.addresses if (host := host_of(made.resolve(each, "") or each))})
    if failure and lost and not offline:
        reach.lose(lost)
        made, told = _rewritten(own, sources, reach, notes, offline=True)
        if (other := _write_map(made, notes)) != map_path:
            map_path, failure = other, fetch.run(other, sources.digest)
            warnings += [each for each in told if each not in warnings]
    return Prepared(map_path, tuple(warnings), is_cached=not failure and not sources.unknown, failure=failure)


def _root_of(folder: Path, settings: FunctionSettings) -> Path:
    """Give the folder of all functions: the nearest one of that name, else the one above."""
    del settings
    above = [each for each in folder.parents if each.name == "functions"]
    return above[0] if above else folder.parent


def _entrypoint(folder: Path, root: Path, settings: FunctionSettings) -> Path | None:
    if settings.entrypoint:
        return Path(os.path.abspath(root.parent / settings.entrypoint))
    return entrypoint_in(folder)


def _config(folder: Path, root: Path) -> Path | None:
    return next(
        (path for each in (folder, root) for name in _CONFIGS if (path := each / name).is_file()), None
    )


def _faults(
    sources: _Sources, folder: Path, root: Path, config: Path | None, roots: Sequence[Path] | None
) -> list[str]:
    """Return why a function must not be run: what it names lies outside of its folders."""
    if roots is None:
        return []
    files = [each / name for each in (folder, root) for name in (*_CONFIGS, "package.json")]
    named = [file for file in dict.fromkeys([*files, *([config] if config else [])]) if file.is_file()]
    return [*sorted(sources.outside), *config_faults(named, roots)]


def _read(begin: Path, folder: Path, own: ImportMap, roots: Sequence[Path] | None = None) -> _Sources:
    """Follow the imports from the entrypoint through all modules that are files."""
    waiting, seen = [begin], {begin}
    addresses: set[str] = set()
    unknown: set[str] = set()
    missing: set[str] = set()
    beyond: set[str] = set()
    digest = hashlib.sha256(f"{begin}\0{metadata.version('deno')}\0".encode())
    while waiting and len(seen) <= _MOST_SOURCES:
        path = waiting.pop()
        text = _text(path)
        digest.update(f"{path}\0{text}\0".encode(errors="replace"))
        imports = imports_of(text) if path.suffix in _SOURCES else Imports(())
        more = list(_sources_below(folder)) if imports.is_open else []
        referrer = path.as_uri()
        named = [each for each in imports.found if each.kind is not Kind.TYPE]
        if path.suffix in _JSX:
            named += [Import(f"{each}/jsx-runtime", Kind.DYNAMIC) for each in _PRAGMA.findall(text)]
        for each in named:
            address = own.resolve(each.specifier, referrer)
            if address is None:
                if each.kind is Kind.STATIC and not is_relative(each.specifier):
                    unknown.add(each.specifier)
            elif roots is not None and (away := _away(address, roots)) is not None:
                beyond.add(
                    f"{path.name} imports {away}: outside of the function's folders, what functions share, and its "
                    "static_files"
                )
            elif (local := local_path(address)) is not None:
                more.append(local)
                if each.kind is Kind.STATIC and not local.exists():
                    missing.add(address)
            else:
                addresses.add(address)
        for file in more:
            if file not in seen and file.is_file():
                seen.add(file)
                waiting.append(file)
    has_jsx = any(path.suffix in _JSX for path in seen)
    builtin = frozenset(_no_builtin(unknown))
    return _Sources(
        frozenset(addresses), builtin, frozenset(missing), frozenset(beyond), digest.hexdigest(), has_jsx
    )


def _away(address: str, roots: Sequence[Path]) -> str | None:
    """Return the file outside of the roots that an address names, or that a module written in the address does."""
    waiting, left = [address], _MOST_NESTED
    while waiting and left:
        one, left = waiting.pop(), left - 1
        if (away := outside(one, roots)) is not None:
            return away
        if (text := data_source(one)) is not None:
            waiting += [each.specifier for each in imports_of(text).found]
    return None


def _no_builtin(names: Iterable[str]) -> Iterator[str]:
    """Leave out the bare names of Node's own modules, which the runtime knows."""
    builtin = {"fs", "path", "crypto", "buffer", "stream", "util", "events", "http", "https", "url", "os", "process", "assert",
               "zlib", "querystring", "net", "tls", "dns", "timers", "string_decoder", "async_hooks", "perf_hooks"}  # fmt: skip
    yield from (name for name in names if name.partition("/")[0] not in builtin)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_SOURCE).decode(errors="replace")
    except OSError:
        return ""


def _sources_below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "node_modules" and not name.startswith(".")]
        yield from (Path(place, name) for name in files if name.endswith(_SOURCES))


def _rewritten(
    own: ImportMap, sources: _Sources, reach: Reach, notes: Path, *, offline: bool
) -> tuple[ImportMap, list[str]]:
    """Give the project's map with our rewrites in it, and what nobody can load here."""
    found = {address: rewritten(address) for address in sources.addresses}
    optional = {
        address: host for address in found if (host := host_of(address)) and not _is_always(found[address])
    }
    there = frozenset() if offline else reach.reachable(optional.values())
    changed: dict[str, str] = {}
    warnings: list[str] = []
    for address, rewrite in sorted(found.items()):
        if address in optional and optional[address] in there:
            continue
        if rewrite is not None:
            changed[address] = _address(rewrite.address, notes)
        elif address in optional:
            warnings.append(f"{address} cannot be reached from here, and npm has nothing in its place")
    if not changed:
        return own, warnings
    imports = {name: changed.get(address, address) for name, address in own.imports.items()}
    whole = {**_prefixed(own.imports, changed), **imports, **changed}
    scopes = {
        scope: {name: changed.get(address, address) for name, address in entries.items()}
        | _prefixed(entries, changed)
        for scope, entries in own.scopes.items()
    }
    return ImportMap(whole, scopes), warnings


def _prefixed(entries: Mapping[str, str], changed: Mapping[str, str]) -> dict[str, str]:
    """Give an entry of its own for each name that a prefix of the project's map gives an address which is rewritten."""
    return {
        name + address[len(start) :]: target
        for name, start in entries.items()
        if name.endswith("/")
        for address, target in changed.items()
        if address.startswith(start)
    }


def _is_always(rewrite: object) -> bool:
    return bool(getattr(rewrite, "is_always", False))


def _is_elsewhere(address: str) -> bool:
    return not address.startswith(_BUILT_IN) or (address.startswith("file:") and "/shims-" in address)


def _address(address: str, notes: Path) -> str:
    if not address.startswith(SHIM):
        return address
    return (_shims(notes) / f"{address.removeprefix(SHIM)}.ts").as_uri()


def _shims(notes: Path) -> Path:
    """Copy our modules to where the user of the function can read them, once for each state of them."""
    sources = {
        each.name: each.read_bytes()
        for each in importlib.resources.files("workers.functions.shims").iterdir()
        if each.name.endswith(".ts")
    }
    digest = hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()[:12]
    folder = notes / f"shims-{digest}"
    if not folder.is_dir():
        draft = folder.with_name(f".{folder.name}-{os.getpid()}")
        draft.mkdir(parents=True, exist_ok=True)
        for name, data in sources.items():
            (draft / name).write_bytes(data)
            (draft / name).chmod(0o644)
        draft.chmod(0o755)
        with contextlib.suppress(OSError):  # another worker made it at the same time
            draft.rename(folder)
    return folder


def _write_map(made: ImportMap, notes: Path) -> Path | None:
    if not made.imports and not made.scopes:
        return None
    data = msgspec.json.encode(
        {"imports": dict(made.imports), "scopes": {k: dict(v) for k, v in made.scopes.items()}}
    )
    path = notes / "maps" / f"{hashlib.sha256(data).hexdigest()[:16]}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_bytes(data)
        draft.chmod(0o644)
        draft.replace(path)
        path.parent.chmod(0o755)
    return path


@dataclass(frozen=True, slots=True)
class _Fetch:
    """Fetches the modules of one function into the cache, as the user whom the cache belongs to."""

    cache: Path
    notes: Path
    program: Path
    begin: Path
    config: Path | None
    sandbox: Sandbox | None = None
    preload: Path | None = None

    def run(self, import_map: Path | None, digest: str) -> str:
        """Fetch, unless this state of the sources was fetched before; give what failed."""
        mark = hashlib.sha256(
            f"{digest}\0{import_map}\0{self.preload}\0{self._config_text()}".encode()
        ).hexdigest()[:24]
        done = self.notes / "fetched" / mark
        if done.is_file():
            return ""
        try:
            with self.sandbox() if self.sandbox else contextlib.nullcontext() as walls:
                ended = subprocess.run(  # noqa: S603 - the runtime of the package, with our own arguments
                [
                    str(self.program), "cache", "--quiet", "--no-lock", "--node-modules-dir=none",
                    *([f"--import-map={import_map}"] if import_map else []),
                    f"--config={self.config}" if self.config else "--no-config",
                    str(self.begin), *([str(self.preload)] if self.preload else []),
                ],
                env=_environment() | dict(walls.environment if walls else {}) | {"DENO_DIR": str(self.cache), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
                cwd=self.begin.parent, stdin=subprocess.DEVNULL, capture_output=True, timeout=FETCH_S, check=False,
                preexec_fn=walls.enter if walls else None,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"its modules were not fetched within {FETCH_S:.0f} s"
        except (OSError, subprocess.SubprocessError) as error:
            return f"its modules could not be fetched: {error}"
        if ended.returncode:
            return (
                str(ended.stderr.decode(errors="replace").strip()[-_LONGEST_FAILURE:])
                or "its modules could not be fetched"
            )
        done.parent.mkdir(parents=True, exist_ok=True)
        done.touch()
        return ""

    def _config_text(self) -> str:
        files = [self.config, *(self.begin.parent / name for name in (".npmrc", "package.json"))]
        return "\0".join(_text(file) for file in files if file is not None)


def _environment() -> dict[str, str]:
    """Give what fetching needs of ours: proxies, registries, and the certificates that this machine trusts."""
    passed = {name: os.environ[name] for name in _PASSED if os.environ.get(name)}
    if "SSL_CERT_FILE" in passed:  # which the runtime itself does not read
        passed.setdefault("DENO_CERT", passed["SSL_CERT_FILE"])
    return passed
