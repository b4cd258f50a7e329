"""Copies the files of a database: of one that runs by an online base backup, of a stopped one as they are.

    temporary physical slot -> pg_backup_start -> files, pg_control last -> pg_backup_stop -> backup_label, and the log from start to stop

The copy of a running database recovers as a server that crashed at the moment of the stop: whatever was committed before is in it, and
nothing that was committed later. The slot keeps the log of that time on the parent's disk; it and the backup mode end with the session, so
a process that is killed leaves nothing in the parent.
Source: PostgreSQL, "Making a Base Backup Using the Low Level API".
"""

import asyncio
import os
import re
import secrets
import time
from pathlib import Path

from broker.processes.file_copies import CopiedTree, copy_file, copy_tree, flush_file_system
from schemas.branches import CopiedFiles
from workers.branches.errors import BranchRejected
from workers.project.project_connection import open_as_superuser
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.branches", "copy_database.sql")
_CONTROL = "global/pg_control"
_LOG = "pg_wal"
_NOT_COPIED = frozenset({
    "postmaster.pid", "postmaster.opts", "backup_label", "backup_label.old", "tablespace_map", "tablespace_map.old",
    "recovery.signal", "standby.signal", "current_logfiles", "postgresql.auto.conf.tmp",
})  # fmt: skip
_EMPTY = frozenset(
    {"pg_dynshmem", "pg_notify", "pg_replslot", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans"}
)
"""Folders whose files belong to the running server, or to readers of the parent's log."""
_SEGMENT = re.compile(r"[0-9A-F]{24}", re.ASCII)
_START = re.compile(r"^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$", re.MULTILINE | re.ASCII)
_TABLESPACES = (
    "The database has tablespaces ({names}): their files are outside of its data folder, so it cannot be branched. Move their tables with "
    "`alter table all in tablespace ... set tablespace pg_default`, and drop them."
)
_SEVERAL_READS = 20


async def copy_live_database(url: str, source: Path, target: Path) -> CopiedFiles:
    """Copy a running database into an empty folder; `url` is a superuser's. Raises: BranchRejected, OSError, the driver's errors."""
    began = time.monotonic()
    async with open_as_superuser(url) as superuser:
        if names := await superuser.fetchval(_STATEMENTS["tablespaces"]):
            raise BranchRejected(_TABLESPACES.format(names=names))
        await superuser.fetchval(_STATEMENTS["keep_log"], f"headwater_branch_{secrets.token_hex(6)}")
        await superuser.fetchval(_STATEMENTS["begin"], "headwater branch")
        files = await asyncio.to_thread(copy_tree, source, target, _is_left_out)
        _copy_control(source / _CONTROL, target / _CONTROL)
        stop = await superuser.fetchrow(_STATEMENTS["end"])
        assert stop is not None  # the function returns one row
        (target / "backup_label").write_text(stop["label"])
        first = _START.search(stop["label"])
        if first is None:
            raise BranchRejected("The database's backup label cannot be read; nothing was made.")
        log = await asyncio.to_thread(_copy_log, source, target, first[1], stop["segment"])
    return _result(files, log, began, stop["lsn"])


def copy_stopped_database(source: Path, target: Path, segments: list[str]) -> CopiedFiles:
    """Copy a stopped database into an empty folder. `segments` are those of its log that it needs; without any, all are copied.

    Raises: BranchRejected, OSError.
    """
    began = time.monotonic()
    if names := ", ".join(sorted(entry.name for entry in os.scandir(source / "pg_tblspc"))):
        raise BranchRejected(_TABLESPACES.format(names=names))
    files = copy_tree(source, target, _is_left_out)
    _copy_control(source / _CONTROL, target / _CONTROL)
    log = _copy_log(source, target, min(segments, default=""), max(segments, default="~"))
    flush_file_system(target)  # a live copy is flushed by its recovery, this one by nothing else
    return _result(files, log, began)


def _is_left_out(path: str) -> bool:
    """Return whether a path of a data folder is not copied with the rest (pure)."""
    folder, _, rest = path.partition("/")
    name = path.rpartition("/")[2]
    if folder == _LOG or folder in _EMPTY:
        return bool(rest)
    return (
        path in _NOT_COPIED or path == _CONTROL or name == "pg_internal.init" or name.startswith("pgsql_tmp")
    )


def _copy_control(source: Path, target: Path) -> None:
    """Copy the control file as it is between two writes of the server. Raises: BranchRejected, OSError."""
    content = b""
    for _ in range(_SEVERAL_READS):
        before, content = content, source.read_bytes()
        if content == before:
            target.write_bytes(content)
            target.chmod(0o600)
            return
    raise BranchRejected("The database's control file changes all the time. Try it again.")


def _copy_log(source: Path, target: Path, first: str, last: str) -> CopiedTree:
    """Copy the segments of the log from the first to the last one, and the history of timelines. Raises: BranchRejected, OSError."""
    (target / _LOG / "archive_status").mkdir(mode=0o700, parents=True, exist_ok=True)
    names = sorted(entry.name for entry in os.scandir(source / _LOG))
    segments = [name for name in names if _SEGMENT.fullmatch(name) and first <= name <= last]
    if first and segments[:1] != [first]:
        raise BranchRejected(
            "The database gave up a part of its log while it was copied (max_slot_wal_keep_size). Try it again when fewer rows are written."
        )
    copied = [
        copy_file(source / _LOG / name, target / _LOG / name)
        for name in [*segments, *(name for name in names if name.endswith(".history"))]
    ]
    there = [size for size in copied if size is not None]
    return CopiedTree(
        len(there), sum(size for size, _ in there), sum(size for size, cloned in there if cloned)
    )


def _result(files: CopiedTree, log: CopiedTree, began: float, stop_lsn: str = "") -> CopiedFiles:
    return CopiedFiles(
        files.files + log.files,
        files.size + log.size,
        files.cloned + log.cloned,
        round(time.monotonic() - began, 3),
        stop_lsn,
    )
