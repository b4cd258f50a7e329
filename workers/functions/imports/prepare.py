"""Prepare a function's imports before it starts: find them, map them to addresses that can be loaded, fetch them.

    sources (sources.py) --> addresses --> those on unreachable hosts are rewritten (process_map.py) --> one import map
    import map + entrypoint --> `deno cache` (fetch.py), once for each state of both --> the start with --cached-only

A function without external imports costs reading its sources, and no process. If a module cannot be fetched, the function is
started all the same: the runtime's own message about the missing module goes to the function's log.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import deno  # type: ignore[import-untyped]  # its one function returns the path of the program

from schemas.functions.folder import entrypoint_in
from schemas.settings.functions import FunctionSettings
from workers.functions.imports.boundary import config_faults, real_roots
from workers.functions.imports.fetch import ModuleFetch, SandboxFactory
from workers.functions.imports.import_map import ImportMap, map_of
from workers.functions.imports.process_map import rewrite_map, write_map
from workers.functions.imports.reachable_hosts import ReachableHosts
from workers.functions.imports.rewrites import host_of
from workers.functions.imports.sources import FunctionSources, read_sources

_DEFAULT_NOTES = "headwater"
_CONFIGS = ("deno.json", "deno.jsonc")
_BUILT_IN = ("node:", "file:", "data:", "blob:", "ext:")


@dataclass(frozen=True, slots=True)
class PreparedImports:
    """How a function's imports are resolved. `is_cached`: all modules are in the cache, so no registry is contacted."""

    import_map_path: Path | None = None
    warnings: tuple[str, ...] = ()
    is_cached: bool = False
    failure: str = ""
    """What could not be fetched, as the runtime reports it; or why the function must not run."""
    is_rejected: bool = False
    """It imports files that it may not read: it is not started."""


def prepare_imports(
    function_folder: Path,
    settings: FunctionSettings,
    cache_dir: Path,
    *,
    entrypoint: Path | None = None,
    config: Path | None = None,
    program: Path | None = None,
    offline: bool = False,
    thorough: bool = False,
    reach: ReachableHosts | None = None,
    notes: Path | None = None,
    roots: Sequence[Path] | None = None,
    sandbox: SandboxFactory | None = None,
    preload: Path | None = None,
) -> PreparedImports:
    """Prepare the imports of a function and fetch its modules. Blocks. `cache_dir` is the runtime's DENO_DIR.

    `offline`: no host is contacted; every import that can be rewritten is. `thorough`: the runtime also checks the sources when
    there is nothing to fetch, so that errors in them are found. `notes`: folder for maps and marks; default: below the cache.
    `roots`: where modules may lie; default: anywhere. `sandbox`: for the program that fetches.
    `preload`: the module that runs first. If given, all modules are compiled here, too, because a process that cannot write its
    cache would compile them at every start and lose 150 ms with attempts to write.
    """
    notes = notes or cache_dir / _DEFAULT_NOTES
    root = _root_of(function_folder)
    start = entrypoint or _entrypoint(function_folder, root, settings)
    if start is None:
        return PreparedImports(warnings=("it has no entrypoint",))
    project_map, warnings = map_of(function_folder, root, settings)
    allowed = None if roots is None else real_roots(roots)
    sources = read_sources(start, function_folder, project_map, allowed)
    if faults := _faults(sources, function_folder, root, config, allowed):
        return PreparedImports(warnings=tuple(warnings), failure="\n".join(faults), is_rejected=True)
    maps = _ProcessMaps(project_map, sources.addresses, reach or ReachableHosts(notes / "hosts.json"), notes)
    process_map, map_path, map_warnings = maps.build(offline=offline)
    warnings += map_warnings + [f"the import {name!r} is unknown" for name in sorted(sources.unknown)]
    warnings += sources.unexamined
    if sources.missing:
        missing = "\n".join(f"there is no module {address}" for address in sorted(sources.missing))
        return PreparedImports(map_path, tuple(warnings), failure=missing)
    program = program or Path(deno.find_deno_bin())
    config = config or _config(function_folder, root)
    fetch = ModuleFetch(cache_dir, notes, program, start, config, sandbox, preload)
    targets = [process_map.resolve(address, "") or address for address in sources.addresses]
    failure = ""
    if thorough or sources.has_jsx or any(_is_external(target) for target in targets):
        failure = fetch.run(map_path, sources.digest)
        if failure and not offline:
            map_path, failure, warnings = _retry_rewritten(
                fetch, maps, targets, sources.digest, (map_path, failure, warnings)
            )
    elif preload is not None:
        fetch.run(map_path, sources.digest)  # if this fails, the process reports it better when it starts
    is_cached = not failure and not sources.unknown and not sources.unexamined
    return PreparedImports(map_path, tuple(warnings), is_cached=is_cached, failure=failure)


@dataclass(frozen=True, slots=True)
class _ProcessMaps:
    """Builds the import map for the processes of one function."""

    project_map: ImportMap
    addresses: Collection[str]
    reach: ReachableHosts
    notes: Path

    def build(self, *, offline: bool) -> tuple[ImportMap, Path | None, list[str]]:
        """Return the import map, the file with it (None for an empty map), and warnings."""
        process_map, warnings = rewrite_map(
            self.project_map, self.addresses, self.reach, self.notes, offline=offline
        )
        return process_map, write_map(process_map, self.notes), warnings


_Result = tuple[Path | None, str, list[str]]
"""File of the import map, what failed, warnings."""


def _retry_rewritten(
    fetch: ModuleFetch, maps: _ProcessMaps, targets: Iterable[str], digest: str, result: _Result
) -> _Result:
    """Fetch again without the hosts of a failed fetch: a host that answers a probe may still not deliver its modules."""
    hosts = sorted({host for target in targets if (host := host_of(target))})
    if not hosts:
        return result
    maps.reach.mark_unreachable(hosts)
    map_path, _, warnings = result
    _, rewritten_path, new_warnings = maps.build(offline=True)
    if rewritten_path == map_path:
        return result
    more = [warning for warning in new_warnings if warning not in warnings]
    return rewritten_path, fetch.run(rewritten_path, digest), [*warnings, *more]


def _root_of(folder: Path) -> Path:
    """Return the folder of all functions: the nearest parent named `functions`, else the parent."""
    return next((parent for parent in folder.parents if parent.name == "functions"), folder.parent)


def _entrypoint(folder: Path, root: Path, settings: FunctionSettings) -> Path | None:
    if settings.entrypoint:
        return Path(os.path.abspath(root.parent / settings.entrypoint))
    return entrypoint_in(folder)


def _config(folder: Path, root: Path) -> Path | None:
    return next(
        (path for place in (folder, root) for name in _CONFIGS if (path := place / name).is_file()), None
    )


def _faults(
    sources: FunctionSources, folder: Path, root: Path, config: Path | None, roots: Sequence[Path] | None
) -> list[str]:
    """Return why a function must not run: imports and configuration that lead outside of its folders."""
    if roots is None:
        return []
    files = [place / name for place in (folder, root) for name in (*_CONFIGS, "package.json")]
    existing = [file for file in dict.fromkeys([*files, *([config] if config else [])]) if file.is_file()]
    return [*sorted(sources.outside), *config_faults(existing, roots)]


def _is_external(address: str) -> bool:
    return not address.startswith(_BUILT_IN) or (address.startswith("file:") and "/shims-" in address)
