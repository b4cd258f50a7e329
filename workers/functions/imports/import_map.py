"""The import map of a project: deno.json, import_map.json and package.json combined into one value.

    map_of(function folder, root, settings) -> ImportMap       files read, addresses made absolute
    ImportMap.resolve("hono/cors", referrer) -> "npm:/hono@4/cors"

The runtime allows paths below a package that deno.json names by `npm:` or `jsr:`, but not for an import map given on the command
line, so an entry for these paths is added to each such package. Source: HTML standard, "Import maps"; Deno manual, "Modules and
dependencies"; docs/reference/functions.md, sections 3 and 4.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

from schemas.settings.functions import FunctionSettings

_CONFIGS = ("deno.json", "deno.jsonc")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PACKAGE = re.compile(r"(?P<kind>npm|jsr):/?(?P<name>(?:@[^/@]+/)?[^/@]+(?:@[^/]+)?)")
_PLATFORM = "headwater:"
_NOT_A_RANGE = ("file:", "link:", "workspace:", "git", "http", "portal:", "catalog:")
_LONGEST = 1024 * 1024
_JSONC_PART = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<comma>,)(?=(?:\s|//[^\n]*\n|/\*.*?\*/)*[\]}])',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ImportMap:
    """Names mapped to addresses; a scope (an address prefix) has its own entries. All addresses are absolute."""

    imports: Mapping[str, str] = field(default_factory=dict)
    scopes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def resolve(self, specifier: str, referrer: str) -> str | None:
        """Return the address of a specifier in the module at `referrer`; None for a bare name without an entry."""
        if is_relative(specifier):
            joined = _joined(referrer, specifier)
            if joined is None:
                return None
            specifier = joined
        for scope in sorted(self.scopes, key=len, reverse=True):
            applies = referrer == scope or (scope.endswith("/") and referrer.startswith(scope))
            if applies and (scoped := _match(self.scopes[scope], specifier)) is not None:
                return scoped
        address = _match(self.imports, specifier)
        return address if address is not None else specifier if _SCHEME.match(specifier) else None


def _joined(base: str, reference: str) -> str | None:
    """Return an address relative to another; None for one that is no address, such as `//[`."""
    try:
        return urljoin(base, reference)
    except ValueError:
        return None


def is_relative(specifier: str) -> bool:
    """Return whether a specifier is relative to the module that contains it."""
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
    """Return the import map of the function in `folder`, which lies below `root`, and warnings about its files."""
    warnings: list[str] = []
    imports: dict[str, str] = {}
    for file in _package_files(folder, root):
        imports = _packages(file, warnings) | imports
    scopes: dict[str, Mapping[str, str]] = {}
    map_file = _map_file(folder, root, settings)
    if map_file is not None and (read := _read(map_file, warnings)) is not None:
        map_imports, scopes = _entries(read, map_file, warnings)
        imports |= map_imports
    return ImportMap(
        _expanded(imports), {key: _expanded(entries) for key, entries in scopes.items()}
    ), warnings


def _map_file(folder: Path, root: Path, settings: FunctionSettings) -> Path | None:
    if settings.import_map:
        return Path(os.path.abspath(root.parent / settings.import_map))
    file_names = (*_CONFIGS, "import_map.json")
    candidates = [
        *(folder / name for name in file_names),
        root / "import_map.json",
        *(root / n for n in _CONFIGS),
    ]
    return next((path for path in candidates if path.is_file()), None)


def _entries(
    read: Mapping[str, object], file: Path, warnings: list[str]
) -> tuple[dict[str, str], dict[str, Mapping[str, str]]]:
    """Return imports and scopes of a file, which may refer to another one (`importMap` of deno.json).

    Entries for modules of the platform are left out: they name declarations for editors (services/cli/function_types.py).
    """
    other = read.get("importMap")
    if isinstance(other, str) and "imports" not in read:
        file = Path(os.path.abspath(file.parent / other))
        read = _read(file, warnings) or {}
    base = file.as_uri()
    imports = dict(_absolute(read.get("imports"), base))
    scopes = read.get("scopes")
    listed = scopes.items() if isinstance(scopes, dict) else ()
    return imports, {
        joined: dict(_absolute(entries, base))
        for scope, entries in listed
        if (joined := _joined(base, str(scope))) is not None
    }


def _absolute(entries: object, base: str) -> Iterator[tuple[str, str]]:
    for key, value in entries.items() if isinstance(entries, dict) else ():
        if isinstance(key, str) and isinstance(value, str) and key and not key.startswith(_PLATFORM):
            name = _joined(base, key) if is_relative(key) else key
            address = _joined(base, value) if is_relative(value) else value
            if name is not None and address is not None:
                yield name, address


def _expanded(imports: Mapping[str, str]) -> dict[str, str]:
    """Add an entry for paths below a package to each entry for the package."""
    expanded = dict(imports)
    for key, value in imports.items():
        package = _PACKAGE.match(value)
        if package and not key.endswith("/"):
            rest = value[package.end() :].strip("/")
            expanded.setdefault(
                f"{key}/", f"{package['kind']}:/{package['name']}/{f'{rest}/' if rest else ''}"
            )
    return expanded


def _package_files(folder: Path, root: Path) -> list[Path]:
    """Return the package.json files that apply, nearest first."""
    return [file for parent in dict.fromkeys((folder, root)) if (file := parent / "package.json").is_file()]


def _packages(file: Path, warnings: list[str]) -> dict[str, str]:
    read = _read(file, warnings) or {}
    packages: dict[str, str] = {}
    for group in ("devDependencies", "optionalDependencies", "dependencies"):
        listed = read.get(group)
        for name, version in listed.items() if isinstance(listed, dict) else ():
            text = str(version).strip()
            if text.startswith(_NOT_A_RANGE):
                warnings.append(f"{file.name}: {name} is {text!r}, which functions cannot load")
            elif text.startswith("npm:"):
                packages[name] = text
            else:
                packages[name] = f"npm:{name}@{text}" if text not in ("", "*", "latest") else f"npm:{name}"
    return packages


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
        warnings.append(f"{file.name} is not an object")
    return None


def local_path(address: str) -> Path | None:
    """Return the file that an address names; None for other kinds of addresses."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def parse_jsonc(data: bytes) -> Any:
    """Parse JSON with comments and trailing commas, as deno.json may have them. Raises: ValueError with the reason."""
    text = data.decode(errors="replace").removeprefix("\ufeff")
    try:
        return msgspec.json.decode(_JSONC_PART.sub(lambda part: part["text"] or " ", text))
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
