"""Bundles of deployed functions: checked, and unpacked where the processes of functions can read them.

A bundle comes from whoever has the service key, and through a store that others may write to: its digest is verified,
nothing in it may lead out of its folder, and no more is taken from it than the limits of `schemas/functions/deployments.py`.
"""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from schemas.functions.deployments import (
    FUNCTION_NAME,
    MANIFEST,
    MOST_FILES,
    MOST_PACKED,
    MOST_UNPACKED,
    BundleManifest,
)

_LONGEST_PATH = 512
_LONGEST_MANIFEST = 64 * 1024
_PIECE = 256 * 1024


class BundleRefused(Exception):
    """A bundle cannot be taken; the text tells why."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read: its manifest and its files by path."""

    manifest: BundleManifest
    files: dict[str, bytes]


def read_bundle(data: bytes, name: str) -> Bundle:
    """Read a bundle of the function of this name. Raises: BundleRefused."""
    if len(data) > MOST_PACKED:
        raise BundleRefused(f"the bundle is longer than {MOST_PACKED} bytes")
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_unpacked(data)), mode="r:") as archive:
            for path, content in _members(archive):
                files[path] = content
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise BundleRefused(f"the bundle is no archive: {error}") from None
    manifest = _manifest(files.pop(MANIFEST, b""))
    if manifest.name != name or not FUNCTION_NAME.fullmatch(name):
        raise BundleRefused(f"the bundle is one of the function {manifest.name[:80]!r}")
    return Bundle(manifest, files)


def give_to_us(path: Path) -> None:
    """Let only the user of this process read files."""
    for each in (path, *path.rglob("*")):
        each.chmod(0o700 if each.is_dir() else 0o600)


def lay(
    data: bytes, sha256: str, name: str, folder: Path, give: Callable[[Path], None] = give_to_us
) -> BundleManifest:
    """Unpack a bundle into a folder that is not there yet, whole or not at all. Raises: BundleRefused, OSError.

    `give` sets who may read the files.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BundleRefused("the bundle is not what was deployed: its digest is another")
    bundle = read_bundle(data, name)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        for path, content in bundle.files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(content)
        (draft / "functions" / name).mkdir(parents=True, exist_ok=True)
        give(draft)
        try:
            os.rename(draft, folder)
        except OSError:  # another worker of this machine made it at the same time
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return bundle.manifest


def _unpacked(data: bytes) -> bytes:
    """Give the archive inside; a bomb is given up at the limit."""
    pieces, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > MOST_UNPACKED:
                    raise BundleRefused(f"the bundle unpacks to more than {MOST_UNPACKED} bytes")
                pieces.append(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise BundleRefused(f"the bundle is no .tar.gz: {error}") from None
    return b"".join(pieces)


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    folders: set[str] = set()
    for count, member in enumerate(archive):
        if count >= MOST_FILES:
            raise BundleRefused(f"the bundle has more than {MOST_FILES} files")
        if member.isdir():
            continue
        path = _safe(member.name)
        if not member.isfile() or path in seen:
            raise BundleRefused(f"{path} is no plain file, or is there twice")
        seen.add(path)
        above = {str(each) for each in PurePosixPath(path).parents} - {"."}
        if path in folders or not above.isdisjoint(seen):
            raise BundleRefused(f"{path} would be a file and a folder at the same time")
        folders |= above
        file = archive.extractfile(member)
        yield path, file.read() if file else b""


def _safe(name: str) -> str:
    """Give a path that stays below its folder. Raises: BundleRefused."""
    parts = PurePosixPath(name).parts
    is_plain = name.isprintable() and "\\" not in name and len(name.encode()) <= _LONGEST_PATH
    if not parts or name.startswith("/") or ".." in parts or not is_plain:
        raise BundleRefused(f"{name[:80]!r} is no path that a bundle may have")
    if parts[-1] == ".env" or parts[-1].startswith(".env."):
        raise BundleRefused("a bundle must not hold .env files: set them with `headwater secrets set`")
    return "/".join(parts)


def _manifest(data: bytes) -> BundleManifest:
    if not data or len(data) > _LONGEST_MANIFEST:
        raise BundleRefused(f"the bundle has no {MANIFEST}")
    try:
        manifest = msgspec.json.decode(data, type=BundleManifest)
    except msgspec.MsgspecError as error:
        raise BundleRefused(f"the bundle's {MANIFEST} cannot be read: {error}") from None
    own = manifest.settings
    for path in (own.entrypoint, own.import_map, *own.static_files):
        if path:
            _safe(path.removeprefix("./"))
    return manifest
