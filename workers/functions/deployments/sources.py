"""The source files of a function as a response: those of a stored bundle, or those in the project's folder.

All files are listed; contents are included up to `MOST_BYTES` of JSON in the order of their paths.
"""

import base64
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from schemas.functions.deployments import MOST_FILES, DeployedSources, SourceFile
from schemas.functions.folder import LEFT_OUT
from workers.functions.catalog.registry import HostedFunction
from workers.functions.deployments.bundles import Bundle

MOST_BYTES = 8 * 1024 * 1024


def bundle_sources(name: str, number: int, bundle: Bundle) -> DeployedSources:
    """Return the files of a bundle."""
    files = _files((path, len(content), content) for path, content in sorted(bundle.files.items()))
    settings = msgspec.structs.replace(bundle.manifest.settings, env={})
    return DeployedSources(name, number, settings, files)


def folder_sources(function: HostedFunction) -> DeployedSources:
    """Return the files of a function in the project's folder: its own folder and what functions share. Reads files."""
    base = function.root.parent
    paths = sorted({path for place in (function.folder, *function.shared) for path in _below(place)})
    readable = (
        (path.relative_to(base).as_posix(), path.stat().st_size, _content(path))
        for path in paths[:MOST_FILES]
        if path.is_relative_to(base)
    )
    return DeployedSources(
        function.name, None, msgspec.structs.replace(function.settings, env={}), _files(readable)
    )


def _below(place: Path) -> Iterable[Path]:
    if place.is_file() and not place.is_symlink():
        yield place
        return
    for parent, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        for name in names:
            path = Path(parent, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _content(path: Path) -> bytes | None:
    """Return the bytes of a file, None for one that is too long."""
    return path.read_bytes() if path.stat().st_size <= MOST_BYTES else None


def _files(files: Iterable[tuple[str, int, bytes | None]]) -> list[SourceFile]:
    listed, used = [], 0
    for path, size, content in files:
        file = _source_file(path, size, content) if content is not None and used <= MOST_BYTES else None
        length = len(msgspec.json.encode(file)) if file else 0
        if file is None or used + length > MOST_BYTES:
            file = SourceFile(path, size)
        else:
            used += length
        listed.append(file)
    return listed


def _source_file(path: str, size: int, content: bytes) -> SourceFile:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return SourceFile(path, size, base64=base64.b64encode(content).decode())
    return SourceFile(path, size, text=text)
