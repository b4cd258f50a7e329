"""Writes the files of a planned restore into a folder, so that Postgres recovers from them: no program of ours runs in the server.

The log goes into `pg_wal` as whole files; what the archive does not have of the last one is zeros, where Postgres sees the end of the log.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from broker.archive.store import ArchiveFileMissing, read_unsealed
from workers.backup.continuous.archive import Archive, WalPiece, segment_name
from workers.backup.continuous.base_files import read_base
from workers.backup.continuous.combined_base import write_combined
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.recovery_plan import RecoveryFiles

_AT_ONCE = 8
_REPORT_EVERY = 400


async def fetch_files(
    files: RecoveryFiles, folder: Path, report: Callable[[str], None], combine: str = ""
) -> None:
    """Write the data folder of Postgres; `combine` is the path of pg_combinebackup. Raises: MomentRejected, SealBroken, ArchiveFileMissing, ArchiveStoreDown, OSError."""
    check_room(files, folder)
    plan, archive = files.plan, files.content.archive
    if plan.bases == 1:
        report(f"Reading the base backup of {plan.base_bytes:,} bytes")
        await read_base(archive, files.base, folder)
    else:
        await write_combined(
            archive,
            files.links,
            folder,
            program=combine,
            server_version=plan.server_version,
            report=report,
        )
    wal = folder / "pg_wal"
    wal.mkdir(mode=0o700, exist_ok=True)
    report(f"Reading {plan.wal_bytes:,} bytes of the log")
    await _write_log(files, wal, report)
    timeline = files.content.info.timeline
    try:
        history = await archive.read("history")
    except ArchiveFileMissing:
        return
    (wal / f"{timeline:08X}.history").write_bytes(history)


def check_room(files: RecoveryFiles, folder: Path) -> None:
    """Check that the disk has room for a restore. Raises: MomentRejected."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if (free := shutil.disk_usage(existing).free) < files.plan.disk_bytes:
        raise MomentRejected(
            f"The restore needs {files.plan.disk_bytes:,} bytes, and {free:,} are free at {existing}. "
            "Free some room, or name a folder on another disk with --into."
        )


async def read_piece(archive: Archive, piece: WalPiece) -> bytes:
    """Return a piece of the log. Raises: SealBroken, ArchiveFileMissing, ArchiveStoreDown."""
    content = await read_unsealed(archive.store, piece.name, archive.keys)
    if len(content) != piece.end - piece.start:
        raise MomentRejected(f"{piece.name} has {len(content)} bytes, not those of its name.")
    return content


async def _write_log(files: RecoveryFiles, wal: Path, report: Callable[[str], None]) -> None:
    for done in range(0, len(files.pieces), _AT_ONCE):
        pieces = files.pieces[done : done + _AT_ONCE]
        contents = await asyncio.gather(*(read_piece(files.content.archive, piece) for piece in pieces))
        for piece, content in zip(pieces, contents, strict=True):
            await asyncio.to_thread(_write_piece, files, wal, piece.start, content)
        if done and done % _REPORT_EVERY < _AT_ONCE:
            report(f"{done} of {len(files.pieces)} pieces")


def _write_piece(files: RecoveryFiles, wal: Path, start: int, content: bytes) -> None:
    """Write a piece into the files of the log that it spans."""
    info, first = files.content.info, files.base.start_lsn
    first -= first % info.segment_size
    view = memoryview(content)
    if start < first:  # files before the base backup's are not read
        view, start = view[first - start :], first
    while view:
        offset = start % info.segment_size
        part = view[: info.segment_size - offset]
        path = wal / segment_name(start, info.timeline, info.segment_size)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, info.segment_size)
            written = os.pwrite(descriptor, part, offset)  # less than all of it on a disk that is almost full
        finally:
            os.close(descriptor)
        view, start = view[written:], start + written
