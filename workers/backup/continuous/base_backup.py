"""Makes a base backup: the server sends a copy of its data folder, which is sealed and stored as it arrives, with nothing on this disk.

An incremental one has the blocks that changed since another, whose backup manifest is sent first (UPLOAD_MANIFEST). The server knows
them from its summaries of the log (`summarize_wal`, Postgres 17 and later); where it lacks them, it refuses, and a full one is made.

The server's answer to BASE_BACKUP is the position where the backup begins, the list of tablespaces, a COPY with the tar file and the backup
manifest, and the position where the backup ends. `info` is written last; what an interrupted backup left is deleted by the retention.
Source: PostgreSQL, "Streaming Replication Protocol" (BASE_BACKUP), "Backup Manifest Format".
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
from psycopg import pq
from psycopg.errors import Error

from broker.archive.sealing import FileSealer, SealBroken
from broker.archive.store import ArchiveFileMissing
from workers.backup.continuous import inventory
from workers.backup.continuous.archive import Archive, BaseInfo
from workers.backup.continuous.wal_stream import NAME
from workers.database.sessions.replication import (
    StreamLost,
    begin,
    connect,
    error_of_result,
    lost,
    next_result,
    parse_lsn,
    readable,
    row_of,
    upload,
)

_COMMAND = (
    "BASE_BACKUP (LABEL 'headwater', CHECKPOINT 'fast', WAL false, WAIT false, MANIFEST 'yes',"
    " MANIFEST_CHECKSUMS 'SHA256'%s)"
)
_ROOM = 4 * 1024 * 1024


class BaseBackupRefused(Exception):
    """This database cannot be backed up so: why."""


class IncrementalRefused(Exception):
    """The changes since another base backup cannot be had: why. A full one can be made."""


class _Manifest(msgspec.Struct):
    files: list[msgspec.Raw] = msgspec.field(name="Files", default_factory=list)


@dataclass(slots=True)
class _Copy:
    """What arrives in the COPY: the tar file is yielded, the manifest is collected."""

    connection: pq.abc.PGconn
    manifest: bytearray = field(default_factory=bytearray)
    size: int = 0
    _is_manifest: bool = False

    async def content(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the tar file. Raises: StreamLost, BaseBackupRefused."""
        archives = 0
        while (message := await self._message()) is not None:
            kind, data = message[:1], message[1:]
            if kind == b"n":
                archives += 1
                if archives > 1:
                    raise BaseBackupRefused(
                        "The database has tablespaces beside its data folder, which continuous backup does not copy."
                    )
            elif kind == b"m":
                self._is_manifest = True
            elif kind == b"d" and self._is_manifest:
                self.manifest += data
            elif kind == b"d":
                self.size += len(data)
                yield data

    async def _message(self) -> bytes | None:
        while True:
            try:
                size, view = self.connection.get_copy_data(1)
                if size > 0:
                    return bytes(view)
                if size == -1:
                    return None
                await readable(self.connection)
                self.connection.consume_input()
            except Error as error:
                raise lost(error) from None


async def make_base_backup(
    archive: Archive,
    url: str,
    *,
    version: str,
    vault_key: str,
    sealing_key: str = "",
    server_time: Callable[[], float],
    wait_for_log: Callable[[int], Awaitable[None]],
    parent: BaseInfo | None = None,
    report: Callable[[int], None] = lambda _: None,
) -> BaseInfo:
    """Make and store a base backup; `url` is a superuser's. `report` gets the bytes so far.

    With a `parent` it has only what changed since that one.

    It is complete when `wait_for_log` returns: then the log up to its end is stored.

    Raises: StreamLost, ArchiveStoreDown, BaseBackupRefused, IncrementalRefused.
    """
    began_at = server_time()
    name = f"{datetime.fromtimestamp(began_at, UTC):%Y%m%dT%H%M%SZ}-{time.time_ns() % 10**6:06d}"
    connection = await connect(url, kind="true", name=NAME)
    try:
        start = row_of(await _begin(connection, archive, parent))
        await next_result(connection)  # the tablespaces
        _expect(await next_result(connection), pq.ExecStatus.COPY_OUT)
        copy = _Copy(connection)
        await archive.store.put_stream(
            archive.path(f"base/{name}/content"), _sealed(archive, name, copy, report)
        )
        end = _expect(await next_result(connection), pq.ExecStatus.TUPLES_OK)
        stop = row_of(end)
        while (rest := await next_result(connection)) is not None:
            _expect(rest, pq.ExecStatus.COMMAND_OK)
    finally:
        connection.finish()
    await archive.write(f"base/{name}/manifest", copy.manifest)
    info = BaseInfo(
        name=name,
        start_lsn=parse_lsn(start[0] or ""),
        stop_lsn=parse_lsn(stop[0] or ""),
        began_at=began_at,
        ended_at=server_time(),
        content_bytes=copy.size,
        files=len(msgspec.json.decode(bytes(copy.manifest), type=_Manifest).files),
        headwater=version,
        vault_key=vault_key,
        sealing_key=sealing_key,
        parent=parent.name if parent else "",
    )
    await wait_for_log(info.stop_lsn)
    await archive.write_struct(f"base/{name}/info", info)
    await inventory.note(archive, f"base/{name}/info")
    return info


async def _begin(connection: pq.abc.PGconn, archive: Archive, parent: BaseInfo | None) -> pq.abc.PGresult:
    """Send the command; return the row with the position where the backup begins. Raises: StreamLost, IncrementalRefused, ArchiveStoreDown."""
    if parent is None:
        return await begin(connection, _COMMAND % "")
    try:
        await upload(connection, "UPLOAD_MANIFEST", await archive.read(f"base/{parent.name}/manifest"))
        return await begin(connection, _COMMAND % ", INCREMENTAL")
    except (StreamLost, SealBroken, ArchiveFileMissing) as error:
        raise IncrementalRefused(str(error)) from None


async def _sealed(
    archive: Archive, name: str, copy: _Copy, report: Callable[[int], None]
) -> AsyncIterator[bytes]:
    sealer = FileSealer(archive.path(f"base/{name}/content"), archive.keys[0])
    waiting = bytearray()
    async for data in copy.content():
        waiting += data
        if len(waiting) >= _ROOM:
            if sealed := await asyncio.to_thread(sealer.feed, waiting):
                yield sealed
            waiting.clear()
            report(copy.size)
    yield sealer.feed(waiting) + sealer.finish()


def _expect(result: pq.abc.PGresult | None, status: pq.ExecStatus) -> pq.abc.PGresult:
    """Return a result of the expected kind. Raises: StreamLost."""
    if result is None:
        raise StreamLost("the server ended the base backup")
    if result.status != status:
        raise error_of_result(result)
    return result
