"""The work of the process `archive`: stores the log as the database writes it, makes base backups, copies objects.

    server --(replication, slot)--> collected --(every backup.interval, or 16 MiB)--> piece in the store --> the slot is confirmed

The slot is confirmed when a piece is durable, so what is not stored stays on the database's disk, up to `backup.wal_limit`; nothing is
collected on this disk. If the server gives the log up because the store was away for too long, the chain has a gap: the archive has
ended, and a new one is begun with a base backup of its own (slots.py).

`run` repeats sessions: one lasts until the stream or the database is lost.
"""

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg

from broker.archive.sealing import SealBroken
from broker.archive.store import ArchiveFileMissing, ArchiveStore, ArchiveStoreDown
from broker.backoff import Backoff
from broker.blobs.errors import BlobError
from broker.blobs.store import BlobStore
from broker.observability.observe import observe
from schemas.settings.backup import Backup
from workers.backup.continuous import inventory
from workers.backup.continuous.archive import Archive, BaseInfo, moment_text
from workers.backup.continuous.base_backup import BaseBackupRefused, IncrementalRefused, make_base_backup
from workers.backup.continuous.base_links import parent_of_next
from workers.backup.continuous.log_storing import LogStorer
from workers.backup.continuous.migration_marks import MarkReader
from workers.backup.continuous.object_copies import ObjectCopies
from workers.backup.continuous.observations import (
    ArchiveBegun,
    ArchiveStreamLost,
    BackupsDeleted,
    BaseBackupStored,
    IncrementalBackupRefused,
    LogGivenUp,
)
from workers.backup.continuous.progress import BASE, LOG, OBJECTS, ArchiveProgress
from workers.backup.continuous.retention import apply_retention, delete_old_archives, last_moment
from workers.backup.continuous.slots import KeptLog, OpenArchive, open_archive, server_facts, slot_state
from workers.backup.continuous.wal_stream import NAME, WalStream
from workers.database.sessions.replication import StreamLost, connect, row
from workers.database.sessions.throwaway_logins import UnknownRole, login_as
from workers.project.errors import ProjectRejected
from workers.project.project_connection import OWNER, open_as_superuser

_DATABASE_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)
_STORE_ERRORS = (ArchiveStoreDown, ArchiveFileMissing, SealBroken)
_LOOK_S = 60.0
_INCREMENTAL_SINCE = 170000


@dataclass(slots=True)
class Archiver:
    """Archives one database; `url` is a superuser's. `blobs` is None where objects are not copied."""

    settings: Backup
    store: ArchiveStore
    keys: list[bytes] = field(repr=False)
    url: str = field(repr=False)
    blobs: BlobStore | None
    progress: ArchiveProgress
    version: str
    vault_key: Path | None = None
    sealing_key: Path | None = None
    _storer: LogStorer | None = field(default=None, init=False)
    _is_stopping: bool = field(default=False, init=False)
    _given_up: tuple[str, str] | None = field(default=None, init=False)

    async def run(self) -> None:
        """Archive until `stop`; the loss of the store or of the database is reported, and tried again."""
        backoff = Backoff(0.5, 10.0)
        while not self._is_stopping:
            try:
                await self._session(backoff)
            except (StreamLost, UnknownRole, ProjectRejected, *_DATABASE_ERRORS) as error:
                observe(ArchiveStreamLost(str(error) or type(error).__name__))
                self.progress.fail(LOG, f"the database cannot be read: {error or type(error).__name__}")
            except _STORE_ERRORS as error:
                self.progress.fail(LOG, str(error))
            if not self._is_stopping:
                await backoff.wait()

    async def stop(self) -> None:
        """Store what has arrived, and let `run` return."""
        self._is_stopping = True
        if self._storer is not None:
            self._storer.stop()

    async def _session(self, backoff: Backoff) -> None:
        async with contextlib.AsyncExitStack() as stack:
            superuser = await stack.enter_async_context(open_as_superuser(self.url))
            facts = await server_facts(superuser)
            self.progress.offset_s = facts["now"].timestamp() - time.time()
            opened = await open_archive(superuser, self.store, self.keys)
            await self._announce(opened)
            owner = await stack.enter_async_context(login_as(superuser, self.url, OWNER))
            archive = opened.archive
            stream = await WalStream.open(self.url, archive.id, opened.position, opened.info.timeline)
            stack.callback(stream.close)
            await self._open_progress(archive)
            lock = asyncio.Lock()

            async def slot() -> KeptLog:
                try:
                    async with lock:
                        return await slot_state(superuser, archive.id)
                except _DATABASE_ERRORS:
                    return KeptLog(self.progress.waiting_bytes, is_lost=False)

            storer = LogStorer(
                archive,
                stream,
                opened.position,
                opened.covered,
                self.settings.interval,
                self.progress,
                slot,
            )
            self._storer = storer
            if self._is_stopping:
                storer.stop()
            self.progress.clear(LOG)
            backoff.reset()
            copies = ObjectCopies(archive, self.blobs) if self.blobs is not None else None
            rows = asyncio.Lock()  # one session, two users of it
            others = (
                self._make_bases(opened, storer, owner, copies, rows),
                self._follow_rows(archive, storer, owner, copies, rows),
            )
            await _run_beside(storer.run(), others)

    async def _announce(self, opened: OpenArchive) -> None:
        """Report a new archive, and that the chain of the one before has ended."""
        self.progress.archive = opened.archive.id
        if not opened.reason:
            return
        observe(ArchiveBegun(opened.archive.id, opened.reason))
        if opened.given_up:
            before = Archive(self.store, self.keys, opened.given_up)
            end = await last_moment(before, 0.0)
            since = moment_text(end) if end else "its beginning"
            observe(LogGivenUp(opened.given_up, since, opened.reason))
        history = await _timeline_history(self.url, opened.info.timeline)
        if history:
            await opened.archive.write("history", history.encode())
            await inventory.note(opened.archive, "history")

    async def _open_progress(self, archive: Archive) -> None:
        await inventory.note_existing(archive)
        self.progress.set_bases(await archive.bases())

    async def _make_bases(
        self,
        opened: OpenArchive,
        storer: LogStorer,
        owner: asyncpg.Connection,
        copies: ObjectCopies | None,
        rows: asyncio.Lock,
    ) -> None:
        """Make base backups when they are due, and delete what is too old after each."""
        backoff = Backoff(2.0, 60.0)
        is_clean = self.progress.base_at is None  # what a session before left undone is done now
        while True:
            wait_s = self._until_base_s()
            if is_clean and wait_s > 0:
                await asyncio.sleep(min(wait_s, _LOOK_S))
                continue
            try:
                if wait_s <= 0:
                    await self._make_base(opened, storer)
                    is_clean = False
                await self._clean(opened, owner, copies, rows)
                is_clean = True
            except (StreamLost, BaseBackupRefused, BlobError, *_STORE_ERRORS, *_DATABASE_ERRORS) as error:
                self.progress.base_running = False
                self.progress.fail(BASE, str(error) or type(error).__name__)
                await backoff.wait()
            else:
                self.progress.clear(BASE)
                backoff.reset()

    def _until_base_s(self) -> float:
        """Return the seconds until a base backup is due."""
        at = self.progress.base_at
        return 0.0 if at is None else at + self.settings.base_interval - self.progress.server_time()

    async def _make_base(self, opened: OpenArchive, storer: LogStorer) -> None:
        archive, server_time = opened.archive, self.progress.server_time
        self.progress.base_running = True
        self.progress.write()
        vault_key = await asyncio.to_thread(_read_key, self.vault_key)
        sealing_key = await asyncio.to_thread(_read_key, self.sealing_key)
        make = partial(
            make_base_backup,
            archive,
            self.url,
            version=self.version,
            vault_key=vault_key,
            sealing_key=sealing_key,
            server_time=server_time,
            wait_for_log=storer.wait_for,
        )
        parent = await self._parent(opened)
        try:
            base = await make(parent=parent)
        except IncrementalRefused as error:
            observe(IncrementalBackupRefused(archive.id, parent.name if parent else "", str(error)))
            base = await make()
        self.progress.base_running = False
        self.progress.add_base(base)
        observe(
            BaseBackupStored(
                archive.id,
                base.name,
                base.content_bytes,
                round(base.ended_at - base.began_at, 3),
                base.parent,
            )
        )

    async def _parent(self, opened: OpenArchive) -> BaseInfo | None:
        """Return the base backup since which the next one has the changes; None for a full one."""
        if opened.info.server_version < _INCREMENTAL_SINCE:
            return None
        return parent_of_next(await opened.archive.bases(), self.settings.incrementals)

    async def _clean(
        self, opened: OpenArchive, owner: asyncpg.Connection, copies: ObjectCopies | None, rows: asyncio.Lock
    ) -> None:
        archive, now = opened.archive, self.progress.server_time()
        deleted = await apply_retention(archive, now, self.settings.retention)
        objects = 0
        if copies is not None:
            async with rows:
                objects = await copies.compare(owner, now, deleted.oldest)
        archives = await delete_old_archives(archive, opened.info.system, now, self.settings.retention)
        self.progress.set_bases(await archive.bases())
        if deleted.bases or deleted.pieces or objects or archives:
            observe(BackupsDeleted(archive.id, deleted.bases, deleted.pieces, objects))

    async def _follow_rows(
        self,
        archive: Archive,
        storer: LogStorer,
        owner: asyncpg.Connection,
        copies: ObjectCopies | None,
        rows: asyncio.Lock,
    ) -> None:
        """Copy new objects and read marks of new migrations, as often as the log is stored."""
        marks, is_loaded, seen = MarkReader(archive), False, -1
        while True:
            try:
                if copies is not None and not is_loaded:
                    await copies.load()
                    is_loaded = True
                if storer.position != seen:
                    seen = storer.position
                    async with rows:
                        await marks.read_new(owner, seen, self.progress.server_time())
                        if copies is not None:
                            await copies.copy_new(owner)
                if copies is not None:
                    await copies.copy_functions()
            except (BlobError, *_STORE_ERRORS, *_DATABASE_ERRORS) as error:
                seen = -1
                self.progress.fail(OBJECTS, str(error) or type(error).__name__)
            else:
                self.progress.clear(OBJECTS)
            await asyncio.sleep(self.settings.interval)


def _read_key(path: Path | None) -> str:
    if path is None:
        return ""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text()
    return ""


async def _timeline_history(url: str, timeline: int) -> str:
    """Return the content of a timeline's history file; the first timeline has none. Raises: StreamLost."""
    if timeline == 1:
        return ""
    connection = await connect(url, kind="true", name=NAME)
    try:
        return (await row(connection, f"TIMELINE_HISTORY {timeline}"))[1] or ""
    finally:
        connection.finish()


async def _run_beside(main: Coroutine[Any, Any, None], others: tuple[Coroutine[Any, Any, None], ...]) -> None:
    """Run `main` to its end; others end with it, and an error of one ends all."""
    task = asyncio.ensure_future(main)
    tasks = [task, *map(asyncio.ensure_future, others)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for finished in done:
            finished.result()
    finally:
        for running in tasks:
            running.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
