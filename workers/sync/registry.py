"""All shapes of the platform: by handle, and by what they consist of and whose they are.

    create   publish the tables -> a new handle -> build in the background; requests wait for its chunks
    load     shapes of before a restart, if the machine was not restarted: what is on disk was not synced
    sweep    ends shapes that take too much disk; the one that was asked for longest ago ends first

A shape that ends is deleted from the disk, and its handle is never issued again.
"""

import asyncio
import contextlib
import secrets
import shutil
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError
from schemas.settings.sync import SyncSettings
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.sync.catalog import request_tick
from workers.sync.definition import ResolvedShape
from workers.sync.errors import MustRefetch, TooManyShapes
from workers.sync.observations import ShapeEnded, ShapeFailed
from workers.sync.parameters import ShapeDefinition
from workers.sync.resolver import DefinitionResolver
from workers.sync.shape import Shape, ShapeState
from workers.sync.shape_index import ShapeIndex
from workers.sync.store import ShapeStore

_HOUR_S = 3600.0
_CAUGHT_UP_S, _ASK_AGAIN_S = 5.0, 0.1
LEAST_SIZE = 16 * 1024 * 1024
"""Bytes that every shape may take on disk."""
_FACTOR = 2
PASSING = ("08", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE after which the same statement may succeed."""
_RETRY_S, _LONGEST_RETRY_S = 0.1, 2.0


class StoredDefinition(Struct, frozen=True):
    """What a shape was made from, so that it can be resolved again."""

    definition: ShapeDefinition
    role: str
    claims: dict[str, object]
    key: str
    fingerprint: str


class ShapeRegistry:
    """All shapes. `reached` returns the position up to which the stream was read, `on_changed` takes the handle of a shape."""

    def __init__(
        self,
        database: ConnectionPool,
        folder: Path,
        settings: SyncSettings,
        role_settings: Callable[[str], tuple[tuple[str, str], ...]],
        on_changed: Callable[[str], None],
    ) -> None:
        self.database, self.settings = database, settings
        self.reached = 0
        self.seq = 0
        self.total_size = 0
        """Bytes of all shapes on disk, when they were counted last."""
        self._folder, self._on_changed = folder, on_changed
        self.definitions = DefinitionResolver(database, role_settings)
        self.by_handle: dict[str, Shape] = {}
        self._by_key: dict[str, Shape] = {}
        self.index = ShapeIndex()
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._made_by: dict[str, deque[float]] = {}
        self._advanced = asyncio.Event()
        self._catching_up = asyncio.Lock()
        self._next_catch_up: asyncio.Task[None] | None = None
        self._creating: dict[str, asyncio.Task[Shape]] = {}
        self._building = asyncio.Semaphore(max(1, database.size // 2 - 1))
        self._working = asyncio.Semaphore(max(1, database.size // 2 - 1))
        """Shapes that are built, and those to which changes are applied, at a time: each uses a connection."""

    # Finding and creating

    def find(self, handle: str, key: str) -> Shape | None:
        """Return the shape of a handle if it is one of this definition and identity."""
        shape = self.by_handle.get(handle)
        if shape is None or shape.resolved.key != key or shape.state is ShapeState.ENDED:
            return None
        return self.used(shape)

    def current(self, key: str) -> Shape | None:
        """Return the shape with which a client of this definition and identity starts."""
        shape = self._by_key.get(key)
        return (
            None if shape is None or shape.is_retired or shape.state is ShapeState.ENDED else self.used(shape)
        )

    def used(self, shape: Shape) -> Shape:
        """Note that a shape is asked for now."""
        shape.used_at = time.monotonic()
        return shape

    async def obtain(self, resolved: ResolvedShape, caller_key: str) -> Shape:
        """Return the shape with which a client starts; make it if there is none. Raises: as `_create`."""
        if (shape := self.current(resolved.key)) is not None:
            return shape
        creating = self._creating.get(resolved.key)
        if creating is None:
            self._count(caller_key)
            creating = asyncio.get_running_loop().create_task(self._create(resolved))
            self._creating[resolved.key] = creating
            creating.add_done_callback(lambda task: self._created(resolved.key, task))
        return await asyncio.shield(creating)

    def _created(self, key: str, task: asyncio.Task[Shape]) -> None:
        self._creating.pop(key, None)
        _retrieve(task)

    def _count(self, caller_key: str) -> None:
        """Count a new shape of a caller. Raises: TooManyShapes."""
        now = time.monotonic()
        made = self._made_by.setdefault(caller_key, deque())
        while made and made[0] < now - _HOUR_S:
            made.popleft()
        if len(made) >= self.settings.max_shapes_per_caller:
            raise TooManyShapes
        made.append(now)
        if len(self._made_by) > 10_000:
            self._made_by = {key: times for key, times in self._made_by.items() if times[-1] > now - _HOUR_S}

    async def _create(self, resolved: ResolvedShape) -> Shape:
        """Make a shape. Raises: InvalidParameters, ShapeNotReady, DatabaseError, Disconnected, PoolTimeout, OSError."""
        await self.definitions.publish(resolved)
        while len(self.by_handle) >= self.settings.max_shapes:
            self.end(min(self.by_handle.values(), key=lambda one: one.used_at), "too many shapes")
        handle = f"{secrets.token_hex(16)}-{time.time_ns() // 1000}"
        store = await asyncio.to_thread(ShapeStore, self._folder / handle)
        stored = StoredDefinition(
            resolved.definition,
            resolved.identity.role,
            msgspec.json.decode(resolved.identity.claims, type=dict[str, object]),
            resolved.key,
            resolved.fingerprint,
        )
        await asyncio.to_thread(lambda: store.note(definition=msgspec.json.encode(stored)))
        shape = self._add(handle, resolved, store)
        self._by_key[resolved.key] = self.used(shape)
        self._run(shape, self._build(shape))
        self._run(shape, self._work(shape))
        return shape

    def _add(self, handle: str, resolved: ResolvedShape, store: ShapeStore) -> Shape:
        shape = Shape(
            handle,
            resolved,
            store,
            self.settings.chunk_size,
            lambda: self.reached,
            lambda it: self._changed(handle, it),
            self.catch_up,
            self._working,
        )
        shape.applied_seq = self.seq
        self.by_handle[handle] = shape
        self.index.add(shape)
        return shape

    def _changed(self, handle: str, changed: str) -> None:
        shape = self.by_handle.get(handle)
        if shape is not None and not shape.is_behind:
            shape.applied_seq = self.seq
        if changed:
            self._on_changed(handle)

    # Tasks of a shape

    def _run(self, shape: Shape, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.setdefault(shape.handle, []).append(asyncio.get_running_loop().create_task(work))

    async def _build(self, shape: Shape) -> None:
        try:
            async with self._building:
                await shape.build(self.database)
        except MustRefetch:
            return
        except (DatabaseError, Disconnected, PoolTimeout, OSError) as error:
            self.definitions.forget_resolved()  # the table may have another form by now: the next request resolves it again
            self.end(shape, f"it could not be built: {type(error).__name__}")
        except Exception as error:  # no other task would report it
            observe(ShapeFailed(shape.handle, traceback_of(error)))
            self.end(shape, "it could not be built")

    async def _work(self, shape: Shape) -> None:
        """Apply changes to a shape until it ends; what fails for a moment is repeated."""
        pause_s = _RETRY_S
        while shape.state is not ShapeState.ENDED:
            try:
                await shape.work(self.database)
            except MustRefetch:
                return
            except (Disconnected, PoolTimeout):
                pass
            except DatabaseError as error:
                if error.code[:2] not in PASSING:
                    self.definitions.forget_resolved()  # as above
                    self.end(shape, f"its rows cannot be read: {error.code}")
                    return
            except Exception as error:  # as above
                observe(ShapeFailed(shape.handle, traceback_of(error)))
                self.end(shape, "a change could not be applied")
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_RETRY_S)

    # Ending

    def end(self, shape: Shape, reason: str) -> None:
        """End a shape: requests that wait get 409, its files are deleted."""
        if self.by_handle.pop(shape.handle, None) is None:
            return
        if self._by_key.get(shape.resolved.key) is shape:
            del self._by_key[shape.resolved.key]
        self.index.discard(shape)
        observe(ShapeEnded(f"{shape.resolved.table.schema}.{shape.resolved.table.name}", reason))
        shape.end()
        asyncio.get_running_loop().create_task(self._remove(shape))

    async def _remove(self, shape: Shape) -> None:
        current = asyncio.current_task()
        tasks = [task for task in self._tasks.pop(shape.handle, []) if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with shape.lock:
            await asyncio.to_thread(shape.store.remove)

    def end_all(self, reason: str) -> None:
        """End every shape."""
        for shape in list(self.by_handle.values()):
            self.end(shape, reason)

    async def sweep(self) -> None:
        """End shapes that take more disk than they may."""
        total = 0
        for shape in sorted(self.by_handle.values(), key=lambda one: -one.used_at):
            try:
                snapshot, size = await asyncio.to_thread(shape.store.sizes)
            except OSError:
                continue
            total += size
            if shape.state is ShapeState.LIVE and size > max(_FACTOR * snapshot, LEAST_SIZE):
                self.end(shape, "its log is longer than its rows")
            elif total > self.settings.max_size:
                self.end(shape, "the shapes take too much disk")
        self.total_size = total

    # Rights

    async def renew(self, shape: Shape) -> None:
        """Resolve a shape again after a change of the catalog: it ends, or its keys are compared."""
        identity = shape.resolved.identity
        claims = msgspec.json.decode(identity.claims, type=dict[str, object])
        try:
            resolved = await self.definitions.resolved(shape.resolved.definition, identity.role, claims)
            if resolved.key != shape.resolved.key or resolved.fingerprint != shape.resolved.fingerprint:
                self.end(shape, "the table, its policies or its rights changed")
                return
            await self.definitions.publish(resolved)
        except ApiError as error:
            if error.status != 503:
                self.end(shape, "its caller may not read it any more")
            return
        shape.resolved = resolved
        self.index.add(shape)

    # Restarts

    async def load(self, *, is_continued: bool) -> None:
        """Load the shapes of before, or delete them if the stream does not continue where they end."""
        self._folder.mkdir(parents=True, exist_ok=True)
        folders = [folder for folder in self._folder.iterdir() if folder.is_dir()]
        for folder in folders:
            if not is_continued or not await self._load_one(folder):
                await asyncio.to_thread(shutil.rmtree, folder, True)

    async def _load_one(self, folder: Path) -> bool:
        try:
            store = await asyncio.to_thread(ShapeStore, folder)
            stored = msgspec.json.decode(store.notes()["definition"], type=StoredDefinition)
            resolved = await self.definitions.resolved(stored.definition, stored.role, stored.claims)
            if (resolved.key, resolved.fingerprint) != (stored.key, stored.fingerprint):
                store.close()
                return False
            await self.definitions.publish(resolved)
            shape = self._add(folder.name, resolved, store)
            await shape.load()
        except (ApiError, LookupError, msgspec.MsgspecError, OSError, ValueError, sqlite3.Error):
            self.by_handle.pop(folder.name, None)
            return False
        self._by_key[resolved.key] = shape
        self._run(shape, self._work(shape))
        return True

    async def close(self) -> None:
        """Stop all tasks; what is on disk stays."""
        tasks = [task for some in self._tasks.values() for task in some] + list(self._creating.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for shape in self.by_handle.values():
            async with shape.lock:
                await asyncio.to_thread(shape.store.close)

    @property
    def safe_seq(self) -> int:
        """Return the number of the stream's message up to which every shape has everything."""
        return min(
            [shape.applied_seq for shape in self.by_handle.values() if shape.is_behind], default=self.seq
        )

    async def catch_up(self) -> None:
        """Wait until the stream has brought everything that is committed now, `_CAUGHT_UP_S` at most. Raises: as `request_tick`.

        One request is underway at a time; callers that come meanwhile share the next one.
        """
        if self._next_catch_up is None:
            self._next_catch_up = asyncio.get_running_loop().create_task(self._catch_up())
            self._next_catch_up.add_done_callback(_retrieve)
        await asyncio.shield(self._next_catch_up)

    async def _catch_up(self) -> None:
        async with self._catching_up:
            self._next_catch_up = None  # who comes from here on needs a later one
            await self._request_tick()

    async def _request_tick(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _CAUGHT_UP_S
        while loop.time() < deadline:
            lsn = await request_tick(self.database)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ASK_AGAIN_S):
                    while self.reached <= lsn:
                        await self._advanced.wait()
                return

    def advance(self, reached: int, seq: int) -> None:
        """Note up to where the stream was taken."""
        self.reached, self.seq = max(self.reached, reached), max(self.seq, seq)
        self._advanced.set()
        self._advanced = asyncio.Event()


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Mark the error of a task as seen: whoever waited has it, and if all have left, nobody needs it."""
    if not task.cancelled():
        task.exception()
