"""Writes an incremental base backup as a whole data folder: pg_combinebackup joins it with those that it is built on.

    .parts/0 (full), .parts/1, ... --pg_combinebackup--> .parts/whole --> the folder itself

All of it is inside the folder, hence on one file system: files that did not change are linked (Postgres 18), not copied.
Source: PostgreSQL, "pg_combinebackup".
"""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from broker.archive.sealing import SealBroken
from workers.backup.continuous.archive import Archive, BaseInfo
from workers.backup.continuous.base_files import read_base
from workers.backup.continuous.moments import MomentRejected

PARTS = ".parts"
_LINKS_SINCE = 180000
_MOST_OUTPUT = 2000


async def write_combined(
    archive: Archive,
    links: Sequence[BaseInfo],
    folder: Path,
    *,
    program: str,
    server_version: int,
    report: Callable[[str], None],
) -> None:
    """Write the last of `links` into an empty folder; `program` is the path of a pg_combinebackup of the server's version.

    Raises: MomentRejected, SealBroken, ArchiveFileMissing, ArchiveStoreDown, OSError.
    """
    if not program:
        raise MomentRejected(
            f"The base backup is incremental, and pg_combinebackup of Postgres {server_version // 10000} is missing: install it "
            "and repeat, or choose a moment before the first incremental one."
        )
    parts = folder / PARTS
    for number, base in enumerate(links):
        report(f"Reading base backup {number + 1} of {len(links)}, {base.content_bytes:,} bytes")
        part = parts / str(number)
        part.mkdir(mode=0o700, parents=True)
        await read_base(archive, base, part)
        (part / "backup_manifest").write_bytes(await archive.read(f"base/{base.name}/manifest"))
    report("Combining them")
    whole = parts / "whole"
    options = ["--no-sync", "--no-manifest", *(["--link"] if server_version >= _LINKS_SINCE else [])]
    await _run(program, *options, "--output", str(whole), *(str(parts / str(n)) for n in range(len(links))))
    for path in whole.iterdir():
        path.rename(folder / path.name)
    await asyncio.to_thread(shutil.rmtree, parts)


async def _run(program: str, *arguments: str) -> None:
    """Run pg_combinebackup to its end. Raises: SealBroken with its last words, OSError."""
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )  # fmt: skip
    try:
        output, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        words = output.decode(errors="replace").strip()[-_MOST_OUTPUT:]
        raise SealBroken(f"the base backups cannot be combined: {words or f'exit code {process.returncode}'}")
