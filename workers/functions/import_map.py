"""The import map of a project: what its deno.json, import_map.json and package.json say, as one value.

    map_of(function folder, root, settings) -> ImportMap       files read, addresses made absolute
    ImportMap.resolve("hono/cors", referrer) -> "npm:/hono@4/cors"

A package that deno.json names by `npm:` or `jsr:` may be imported with a path below it; an import map given by a flag
lacks that, so those entries are written out. Source: HTML standard, "Import maps"; Deno manual, "Modules and
dependencies"; reference page "functions", sections 3 and 4.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from schemas.settings.functions import FunctionSettings
from workers.functions.jsonc import parse_jsonc

_CONFIGS = ("deno.json", "deno.jsonc")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PACKAGE = re.compile(r"(?P<kind>npm|jsr):/?(?P<name>(?:@[^/@]+/)?[^/@]+(?:@[^/]+)?)")
_NOT_A_RANGE = ("file:", "link:", "workspace:", "git", "http", "portal:", "catalog:")
_LONGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportMap:
    """Names to addresses; within a scope (an address), other ones. All addresses are absolute."""

    imports: Mapping[str, str] = field(default_factory=dict)
    scopes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def resolve(self, specifier: str, referrer: str) -> str | None:
        """Give the address that a specifier has in the module at `referrer`; None for a bare name nobody knows."""
        if is_relative(specifier):
            specifier = urljoin(referrer, specifier)
        for scope in sorted(self.scopes, key=len, reverse=True):
            holds = referrer == scope or (scope.endswith("/") and referrer.startswith(scope))
            if holds and (inner := _match(self.scopes[scope], specifier)) is not None:
                return inner
        found = _match(self.imports, specifier)
        return found if found is not None else specifier if _SCHEME.match(specifier) else None


def is_relative(specifier: str) -> bool:
    """Tell whether a specifier begins at the module that names it."""
    return specifier.startswith(("./", "../", "/")) or specifier in (".", "..")


def _match(entries: Mapping[str, str], specifier: str) -> str | None:
    if specifier in entries:
        return entries[specifier]
    prefixes = [key for key in entries if key.endswith("/") and specifier.startswith(key)]
    if not prefixes:
        return None
    longest = max(prefixes, key=len)
    return entries[longest] + specifier[len(longest) :]


def map_of(folder: Path, root: Path, settings: FunctionSettings) -> tuple[ImportMap, list[str]]:
    """Give the map of the function in `folder`, which lies below `root`, and what is wrong with its files."""
    warnings: list[str] = []
    imports: dict[str, str] = {}
    for file in _package_files(folder, root):
        imports = _packages(file, warnings) | imports
    scopes: dict[str, Mapping[str, str]] = {}
    map_file = _map_file(folder, root, settings)
    if map_file is not None and (read := _read(map_file, warnings)) is not None:
        own, scopes = _entries(read, map_file, warnings)
        imports |= own
    return ImportMap(
        _expanded(imports), {key: _expanded(entries) for key, entries in scopes.items()}
    ), warnings


def _map_file(folder: Path, root: Path, settings: FunctionSettings) -> Path | None:
    if settings.import_map:
        return Path(os.path.abspath(root.parent / settings.import_map))
    named = (*_CONFIGS, "import_map.json")
    candidates = [*(folder / name for name in named), root / "import_map.json", *(root / n for n in _CONFIGS)]
    return next((path for path in candidates if path.is_file()), None)


def _entries(
    read: Mapping[str, object], file: Path, warnings: list[str]
) -> tuple[dict[str, str], dict[str, Mapping[str, str]]]:
    """Give imports and scopes of a file, which may name another one (`importMap` of deno.json)."""
    other = read.get("importMap")
    if isinstance(other, str) and "imports" not in read:
        file = Path(os.path.abspath(file.parent / other))
        read = _read(file, warnings) or {}
    base = file.as_uri()
    imports = dict(_absolute(read.get("imports"), base))
    scopes = read.get("scopes")
    listed = scopes.items() if isinstance(scopes, dict) else ()
    return imports, {urljoin(base, str(scope)): dict(_absolute(entries, base)) for scope, entries in listed}


def _absolute(entries: object, base: str) -> Iterator[tuple[str, str]]:
    for key, value in entries.items() if isinstance(entries, dict) else ():
        if isinstance(key, str) and isinstance(value, str) and key:
            name = urljoin(base, key) if is_relative(key) else key
            yield name, urljoin(base, value) if is_relative(value) else value


def _expanded(imports: Mapping[str, str]) -> dict[str, str]:
    """Add the entry for paths below a package to each entry for the package."""
    whole = dict(imports)
    for key, value in imports.items():
        found = _PACKAGE.match(value)
        if found and not key.endswith("/"):
            rest = value[found.end() :].strip("/")
            whole.setdefault(f"{key}/", f"{found['kind']}:/{found['name']}/{f'{rest}/' if rest else ''}")
    return whole


def _package_files(folder: Path, root: Path) -> list[Path]:
    """Give the package.json files that count, the nearest first."""
    return [file for each in dict.fromkeys((folder, root)) if (file := each / "package.json").is_file()]


def _packages(file: Path, warnings: list[str]) -> dict[str, str]:
    read = _read(file, warnings) or {}
    found: dict[str, str] = {}
    for group in ("devDependencies", "optionalDependencies", "dependencies"):
        listed = read.get(group)
        for name, wanted in listed.items() if isinstance(listed, dict) else ():
            text = str(wanted).strip()
            if text.startswith(_NOT_A_RANGE):
                warnings.append(f"{file.name}: {name} is {text!r}, which functions cannot load")
            elif text.startswith("npm:"):
                found[name] = text
            else:
                found[name] = f"npm:{name}@{text}" if text not in ("", "*", "latest") else f"npm:{name}"
    return found


def _read(file: Path, warnings: list[str]) -> Mapping[str, object] | None:
    try:
        data = file.read_bytes()
        if len(data) > _LONGEST:
            raise ValueError("it is too long")
        read = parse_jsonc(data)
    except OSError as error:
        warnings.append(f"{file.name} cannot be read: {error.strerror}")
    except ValueError as error:
        warnings.append(f"{file.name} is not JSON: {error}")
    else:
        if isinstance(read, dict):
            return read
        warnings.append(f"{file.name} is no object")
    return None


def local_path(address: str) -> Path | None:
    """Give the file that an address names; None for one elsewhere."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
