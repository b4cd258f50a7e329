"""The import map that a process starts with: the project's own, with addresses replaced that cannot be loaded here."""

import contextlib
import hashlib
import importlib.resources
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from workers.functions.imports.import_map import ImportMap
from workers.functions.imports.reachable_hosts import ReachableHosts
from workers.functions.imports.rewrites import SHIM, host_of, rewritten


def rewrite_map(
    project_map: ImportMap, addresses: Collection[str], reach: ReachableHosts, notes: Path, *, offline: bool
) -> tuple[ImportMap, list[str]]:
    """Return the project's import map with our rewrites in it, and warnings about modules that cannot be loaded here."""
    rewrites = {address: rewritten(address) for address in addresses}
    optional = {
        address: host
        for address, rewrite in rewrites.items()
        if (host := host_of(address)) and not (rewrite and rewrite.is_always)
    }
    reachable_hosts = frozenset() if offline else reach.reachable(optional.values())
    changed: dict[str, str] = {}
    warnings: list[str] = []
    for address, rewrite in sorted(rewrites.items()):
        if address in optional and optional[address] in reachable_hosts:
            continue
        if rewrite is not None:
            changed[address] = _address(rewrite.address, notes)
        elif address in optional:
            warnings.append(f"{address} cannot be reached from here, and npm has nothing in its place")
    if not changed:
        return project_map, warnings
    imports = {name: changed.get(address, address) for name, address in project_map.imports.items()}
    imports_with_prefixes = {**_prefixed(project_map.imports, changed), **imports, **changed}
    scopes = {
        scope: {name: changed.get(address, address) for name, address in entries.items()}
        | _prefixed(entries, changed)
        for scope, entries in project_map.scopes.items()
    }
    return ImportMap(imports_with_prefixes, scopes), warnings


def _prefixed(entries: Mapping[str, str], changed: Mapping[str, str]) -> dict[str, str]:
    """Return an entry for each rewritten address that the project's map reaches through a prefix, under its full name."""
    return {
        name + address[len(start) :]: target
        for name, start in entries.items()
        if name.endswith("/")
        for address, target in changed.items()
        if address.startswith(start)
    }


def _address(address: str, notes: Path) -> str:
    if not address.startswith(SHIM):
        return address
    return (_shims(notes) / f"{address.removeprefix(SHIM)}.ts").as_uri()


def _shims(notes: Path) -> Path:
    """Copy our modules to a folder that functions can read, once for each state of them; return the folder."""
    sources = {
        file.name: file.read_bytes()
        for file in importlib.resources.files("workers.functions.shims").iterdir()
        if file.name.endswith(".ts")
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
        with contextlib.suppress(OSError):  # another worker created it at the same time
            draft.rename(folder)
    return folder


def write_map(process_map: ImportMap, notes: Path) -> Path | None:
    if not process_map.imports and not process_map.scopes:
        return None
    data = msgspec.json.encode(
        {"imports": dict(process_map.imports), "scopes": {k: dict(v) for k, v in process_map.scopes.items()}}
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
