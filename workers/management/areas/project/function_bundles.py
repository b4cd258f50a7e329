"""Bundles of functions from the files that an administrator sends, and the differences between two sets of files. Pure.

A bundle is a `.tar.gz` (schemas/functions/deployments.py). The pool functions validates its paths and its manifest when it is
deployed; here only sizes are bounded, so that a small archive cannot become gigabytes in memory.
"""

import base64
import binascii
import difflib
import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from schemas.functions.archive_reading import ArchiveRejected, archive_files, unzipped
from schemas.functions.deployments import MANIFEST, MOST_FILES, MOST_UNPACKED
from workers.management.interface.errors import ManagementError, invalid_arguments

_FOLDER = "functions/"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""LZMA takes the memory that an archive names: up to 4 GiB for one byte."""
_MOST_LINES = 2000
"""Lines of a file that is compared; the time of a comparison grows with their square."""
_MOST_DIFFERENCE = 256 * 1024


class FunctionFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file to deploy: its text, or its bytes as base64."""

    path: str
    text: str | None = None
    base64: str | None = None


class FileDifference(Struct, frozen=True):
    """A file that differs: `added`, `removed` or `changed`. `difference` is a unified diff, null for bytes and very long files."""

    path: str
    change: str
    difference: str | None = None


def read_files(files: list[FunctionFile]) -> dict[str, bytes]:
    """Return the contents by path. Raises: ManagementError (400)."""
    contents: dict[str, bytes] = {}
    for file in files:
        if (file.text is None) == (file.base64 is None):
            raise invalid_arguments(f"The file {file.path[:80]!r} needs `text` or `base64`")
        if file.path in contents:
            raise invalid_arguments(f"The file {file.path[:80]!r} is there twice")
        try:
            content = file.text.encode() if file.text is not None else b""
            contents[file.path] = base64.b64decode(file.base64, validate=True) if file.base64 else content
        except (binascii.Error, ValueError):
            raise invalid_arguments(f"The file {file.path[:80]!r} is not text or base64") from None
    return contents


def read_zip(archive: str) -> dict[str, bytes]:
    """Return the files of a zip archive in base64. Raises: ManagementError (400)."""
    contents: dict[str, bytes] = {}
    left = MOST_UNPACKED
    try:
        with zipfile.ZipFile(io.BytesIO(base64.b64decode(archive, validate=True))) as opened:
            members = [member for member in opened.infolist() if not member.is_dir()]
            if any(member.compress_type not in _METHODS for member in members):
                raise invalid_arguments("The archive must be stored or deflated")
            if len(members) > MOST_FILES:
                raise invalid_arguments(f"The archive has more than {MOST_FILES} files")
            if (
                sum(member.file_size for member in members) > MOST_UNPACKED
            ):  # as it says itself: checked below
                raise _too_large()
            for member in members:
                with opened.open(member) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise _too_large()
                if member.filename in contents:
                    raise invalid_arguments(f"The file {member.filename[:80]!r} is there twice")
                contents[member.filename] = content
    except (binascii.Error, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, IndexError, OSError, ValueError) as error:  # fmt: skip
        if isinstance(error, ManagementError):
            raise
        raise invalid_arguments(f"`zip` is not a zip archive in base64: {error}") from None
    return contents


def _too_large() -> ManagementError:
    return invalid_arguments(f"The archive unpacks to more than {MOST_UNPACKED} bytes")


def placed(name: str, contents: Mapping[str, bytes], *, keeps_paths: bool = False) -> dict[str, bytes]:
    """Return the files of a function by their paths in its bundle. Raises: ManagementError (400).

    Files without the prefix `functions/`, if none has it, belong to the function's folder, unless it `keeps_paths`.
    """
    if not contents:
        raise invalid_arguments("A function needs at least one file, such as index.ts")
    if len(contents) >= MOST_FILES or sum(map(len, contents.values())) > MOST_UNPACKED:
        raise invalid_arguments(
            f"A function may have {MOST_FILES - 1} files of {MOST_UNPACKED} bytes together"
        )
    for path in contents:
        _check_path(path)
    is_whole = keeps_paths or any(path.startswith(_FOLDER) for path in contents)
    prefix = "" if is_whole else f"{_FOLDER}{name}/"
    return {prefix + path: contents[path] for path in sorted(contents)}


def make_bundle(name: str, settings: object, contents: Mapping[str, bytes]) -> bytes:
    """Return the bundle of a function, whose files are `placed`: equal files give equal bytes."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, MANIFEST, msgspec.json.encode({"name": name, "settings": settings}))
        for path, content in contents.items():
            _add(archive, path, content)
    return packed.getvalue()


def read_contents(bundle: bytes) -> dict[str, bytes]:
    """Return the files of a bundle that the platform stored. Raises: ManagementError (502) if it cannot be read."""
    try:
        contents = dict(archive_files(unzipped(bundle, MOST_UNPACKED), MOST_FILES))
    except ArchiveRejected as error:
        raise ManagementError(502, "unreadable", f"The stored bundle cannot be read: {error}") from None
    contents.pop(MANIFEST, None)
    return contents


def differences(
    before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> list[FileDifference]:
    """Return the files that differ, by path. A content of None is unknown: the file is compared by its presence alone."""
    listed: list[FileDifference] = []
    left = _MOST_DIFFERENCE
    for path in sorted({*before, *after}):
        if path in before and path in after and before[path] == after[path]:
            continue
        change = "added" if path not in before else "removed" if path not in after else "changed"
        text = _difference(path, before.get(path, b""), after.get(path, b"")) if left > 0 else None
        if text is not None and len(text) > left:
            text = None
        left -= len(text or "")
        listed.append(FileDifference(path, change, text))
    return listed


def _difference(path: str, before: bytes | None, after: bytes | None) -> str | None:
    if before is None or after is None:
        return None
    try:
        old, new = before.decode().splitlines(keepends=True), after.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    if max(len(old), len(new)) > _MOST_LINES:
        return None
    return "".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))


def _check_path(path: str) -> None:
    """Reject a path that leads out of its folder, or that an archive cannot hold as it is. Raises: ManagementError (400).

    The pool checks paths again; a NUL would end the name in the archive, and what stands behind it would be lost.
    """
    parts = path.split("/")
    if not path.isprintable() or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise invalid_arguments(f"{path[:80]!r} is not the path of a file of a function")
    check_no_variables(path)


def check_no_variables(path: str) -> None:
    """Reject a file of variables, which would be stored with the sources. Raises: ManagementError (400)."""
    name = path.rpartition("/")[2]
    if name == ".env" or name.startswith(".env."):
        raise invalid_arguments("A function has no .env files: set them as secrets")


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))
