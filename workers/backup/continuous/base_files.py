"""Reads a stored base backup: every file is compared with the backup manifest, and written into a folder or only verified."""

import asyncio
import hashlib
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

import msgspec

from broker.archive.sealing import FileOpener, SealBroken
from workers.backup.continuous.archive import Archive, BaseInfo

_CHUNK = 1024 * 1024
_CHANGES = "INCREMENTAL."
"""Begins the name of a file that has only the blocks that changed."""
_UNLISTED = frozenset({"backup_label", "tablespace_map", "backup_manifest"})


class _ManifestFile(msgspec.Struct):
    size: int = msgspec.field(name="Size")
    path: str = msgspec.field(name="Path", default="")
    encoded: str = msgspec.field(name="Encoded-Path", default="")
    checksum: str = msgspec.field(name="Checksum", default="")


class _Manifest(msgspec.Struct):
    files: list[_ManifestFile] = msgspec.field(name="Files")


async def read_base(archive: Archive, base: BaseInfo, target: Path | None) -> None:
    """Write the files of a base backup into an empty folder, or with None only verify them.

    Raises: SealBroken, ArchiveFileMissing, ArchiveStoreDown, OSError.
    """
    name = f"base/{base.name}"
    expected = await _read_manifest(archive, base.name)
    reading, writing = os.pipe()
    reader = asyncio.create_task(asyncio.to_thread(_read_tar, reading, expected, target))
    opener = FileOpener(archive.path(f"{name}/content"), archive.keys)
    try:
        with open(writing, "wb", buffering=0) as pipe:  # noqa: ASYNC230 - a pipe; what is written to it is in a thread
            async for piece in archive.store.read(archive.path(f"{name}/content")):
                await asyncio.to_thread(_write_all, pipe, opener.feed(piece))
        opener.finish()
    except BrokenPipeError:
        await reader
        raise
    except BaseException:
        await asyncio.gather(reader, return_exceptions=True)
        raise
    await reader


async def check_link(archive: Archive, base: BaseInfo) -> None:
    """Check that the one that an incremental base backup is built on has all files of which this one has changes.

    Raises: SealBroken, ArchiveFileMissing, ArchiveStoreDown.
    """
    if not base.parent:
        return
    parent = {_plain_name(path) for path in await _read_manifest(archive, base.parent)}
    changed = [path for path in await _read_manifest(archive, base.name) if _is_changes(path)]
    if lacking := sorted(path for path in changed if _plain_name(path) not in parent):
        raise SealBroken(f"it has changes of {lacking[0]}, which the base backup {base.parent} does not have")


async def _read_manifest(archive: Archive, name: str) -> dict[str, _ManifestFile]:
    manifest = msgspec.json.decode(await archive.read(f"base/{name}/manifest"), type=_Manifest)
    return {file.path or bytes.fromhex(file.encoded).decode(): file for file in manifest.files}


def _is_changes(path: str) -> bool:
    return path.rpartition("/")[2].startswith(_CHANGES)


def _plain_name(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.removeprefix(_CHANGES)}"


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) :]


def _read_tar(reading: int, expected: Mapping[str, _ManifestFile], target: Path | None) -> None:
    """Read the tar file from a pipe to its end. Raises: SealBroken, OSError."""
    rest = dict(expected)
    with open(reading, "rb") as pipe:
        try:
            with tarfile.open(fileobj=pipe, mode="r|") as tar:
                for member in tar:
                    _read_member(tar, member, rest, target)
        except tarfile.TarError as error:
            raise SealBroken(f"the base backup is damaged: {error}") from None
        while pipe.read(_CHUNK):
            pass
    if rest:
        raise SealBroken(f"the base backup lacks {len(rest)} files of its manifest, first {min(rest)}")


def _read_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, rest: dict[str, _ManifestFile], target: Path | None
) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isdir() or member.isreg()):
        raise SealBroken(f"the base backup has {member.name}, which is neither a file nor a folder of it")
    if member.isdir():
        if target is not None:
            (target / path).mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    content = tar.extractfile(member)
    assert content is not None
    if target is None:
        size, checksum = _copy(content, None)
    else:
        (target / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (target / path).open("xb") as file:
            os.fchmod(file.fileno(), 0o600)
            size, checksum = _copy(content, file)
    listed = rest.pop(str(path), None)
    if listed is None:
        if str(path) not in _UNLISTED and path.parts[0] != "pg_wal":
            raise SealBroken(f"the base backup has {path}, which its manifest does not name")
    elif (listed.size, listed.checksum) != (size, checksum):
        raise SealBroken(f"{path} of the base backup is not what its manifest says")


def _copy(source: IO[bytes], target: BinaryIO | None) -> tuple[int, str]:
    hashed, size = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK):
        hashed.update(chunk)
        size += len(chunk)
        if target is not None:
            target.write(chunk)
    return size, hashed.hexdigest()
