"""Bundles of deployed functions: validate them, and unpack them where processes can read them.

A bundle comes from a client with the service key, and through a blob store that others may be able to write. So its digest is
verified, paths that lead out of its folder are rejected, and the limits of `schemas/functions/deployments.py` apply while it is
unpacked (a small archive may expand to gigabytes).
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from schemas.functions.archive_reading import ArchiveRejected, archive_files, unzipped
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


class BundleRejected(Exception):
    """A bundle is not acceptable; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A validated bundle: its manifest, and its files by path."""

    manifest: BundleManifest
    files: dict[str, bytes]


def read_bundle(data: bytes, name: str) -> Bundle:
    """Read and validate a bundle of one function. Raises: BundleRejected."""
    if len(data) > MOST_PACKED:
        raise BundleRejected(f"the bundle is longer than {MOST_PACKED} bytes")
    try:
        files = dict(_checked_files(archive_files(unzipped(data, MOST_UNPACKED), MOST_FILES)))
    except ArchiveRejected as error:
        raise BundleRejected(f"the bundle is not an acceptable archive: {error}") from None
    manifest = _manifest(files.pop(MANIFEST, b""))
    if manifest.name != name or not FUNCTION_NAME.fullmatch(name):
        raise BundleRejected(f"the bundle belongs to the function {manifest.name[:80]!r}")
    return Bundle(manifest, files)


def restrict_to_this_user(path: Path) -> None:
    """Make files readable only for the user of this process."""
    for file in (path, *path.rglob("*")):
        file.chmod(0o700 if file.is_dir() else 0o600)


def unpack(
    data: bytes, sha256: str, name: str, folder: Path, grant: Callable[[Path], None] = restrict_to_this_user
) -> BundleManifest:
    """Unpack a bundle into a new folder, completely or not at all. Raises: BundleRejected, OSError.

    `grant` sets who may read the files.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BundleRejected("the bundle is not what was deployed: its digest differs")
    bundle = read_bundle(data, name)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        for path, content in bundle.files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(content)
        (draft / "functions" / name).mkdir(parents=True, exist_ok=True)
        grant(draft)
        try:
            os.rename(draft, folder)
        except OSError:  # another worker of this machine unpacked it at the same time
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return bundle.manifest


def _checked_files(members: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield files by paths that stay below their folder, each of which can be written beside the others. Raises: BundleRejected."""
    seen: set[str] = set()
    folders: set[str] = set()
    for name, content in members:
        path = _checked_path(name)
        if path in seen:
            raise BundleRejected(f"{path} is there twice")
        seen.add(path)
        parents = {str(parent) for parent in PurePosixPath(path).parents} - {"."}
        if path in folders or not parents.isdisjoint(seen):
            raise BundleRejected(f"{path} would be a file and a folder at the same time")
        folders |= parents
        yield path, content


def _checked_path(name: str) -> str:
    """Return a path that stays below its folder. Raises: BundleRejected."""
    parts = PurePosixPath(name).parts
    is_plain = name.isprintable() and "\\" not in name and len(name.encode()) <= _LONGEST_PATH
    if not parts or name.startswith("/") or ".." in parts or not is_plain:
        raise BundleRejected(f"{name[:80]!r} is not an allowed path in a bundle")
    if parts[-1] == ".env" or parts[-1].startswith(".env."):
        raise BundleRejected("a bundle must not hold .env files: set them with `headwater secrets set`")
    return "/".join(parts)


def _manifest(data: bytes) -> BundleManifest:
    if not data or len(data) > _LONGEST_MANIFEST:
        raise BundleRejected(f"the bundle has no {MANIFEST}")
    try:
        manifest = msgspec.json.decode(data, type=BundleManifest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BundleRejected(f"the bundle's {MANIFEST} cannot be read: {error}") from None
    settings = manifest.settings
    for path in (settings.entrypoint, settings.import_map, *settings.static_files):
        if path:
            _checked_path(path.removeprefix("./"))
    return manifest
