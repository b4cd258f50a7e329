"""The worker of shapes: request -> definition -> identity -> shape -> a part of its log.

    GET /shape       a part of the log; with `subset` parameters some rows, read now; POST is the same with a body
    DELETE /shape    ends a shape
    /continue        an edge's question for requests that wait, by handle and offset: it checked whose they are when they came
    /shapes          requests of operations (overview.py)

On every request of a client the definition is resolved for this caller, and the handle is looked up within the result. A handle of
another caller is answered as an unknown one. Source: docs/sync.md.
"""

import asyncio
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl

from broker.requests.handler import RequestBody
from schemas.caller import RejectedCaller
from schemas.http import FilePart, Request, Response, header
from schemas.sync import CONTINUE, FOLDER_HEADER, SHAPE, SHAPES, folder_mark
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.request_context.identity import IdentityResolver
from workers.sync.answers import chunk_answer, log_answer, subset_answer, unchanged, wait_answer
from workers.sync.catalog import read_position
from workers.sync.column_schema import schema_header
from workers.sync.definition import ResolvedShape, resolve_subset
from workers.sync.errors import (
    DeleteNotAllowed,
    InvalidParameters,
    MustRefetch,
    ShapeForbidden,
    ShapeMethodNotAllowed,
    ShapeNotReady,
    ShapeUnknown,
    TokenRejected,
)
from workers.sync.messages import snapshot_end, snapshot_parts
from workers.sync.overview import ShapesOverview
from workers.sync.parameters import INFINITE, Offset, Place, ShapeRequest, offset_text, parse_request
from workers.sync.reading import open_snapshot
from workers.sync.registry import ShapeRegistry
from workers.sync.rights import COMPARED_S
from workers.sync.shape import Shape, ShapeState
from workers.sync.store import in_thread

MOST_BODY = 1024 * 1024
_MOST_SUBSET = 64 * 1024 * 1024
_SETTLE_S = 15.0
_BEHIND_S = 10.0
"""How long a request with an offset that is not reached yet waits: half of a long poll."""
_PAUSE_S = 0.05


class SyncWorker:
    """Answers requests about shapes. `identities` and `metrics` are looked up for each request."""

    def __init__(
        self,
        registry: ShapeRegistry,
        identities: Callable[[], IdentityResolver],
        count: Callable[[str], None],
        folder: Path,
        overview: ShapesOverview,
    ) -> None:
        self._registry, self._identities, self._count, self._folder = registry, identities, count, folder
        self._overview = overview

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Raises: ApiError."""
        try:
            if request.path == CONTINUE:
                return await self._continue(request.query)
            if request.path == SHAPES:
                return await self._overview.answer(request)
            if request.path != SHAPE:
                raise ShapeUnknown
            match request.method:
                case "GET" | "HEAD":
                    return await self._read(request, b"")
                case "POST":
                    return await self._read(request, await body.read(MOST_BODY))
                case "DELETE":
                    return await self._delete(request)
            raise ShapeMethodNotAllowed(request.method)
        except (Disconnected, PoolTimeout) as error:
            raise ShapeNotReady(f"the database cannot be reached: {error}", "database_unreachable") from None
        except DatabaseError as error:
            raise ShapeNotReady(
                f"the database cannot answer now ({error.code})", "database_unreachable"
            ) from None

    async def _read(self, request: Request, body: bytes) -> Response:
        asked = parse_request(request.query, body)
        resolved = await self._resolve(request, asked)
        if asked.subset is not None:
            self._count("subset")
            return await self._subset(asked, resolved, request.caller_key)
        has_file = request.method == "GET" and self._is_shared(header(request.headers, FOLDER_HEADER))
        if isinstance(asked.offset, Place):
            self._count(asked.offset.name.lower())
            shape = await self._registry.obtain(resolved, request.caller_key)
            response = await self._start(asked.offset, shape, has_file=has_file)
            return unchanged(response, header(request.headers, "if-none-match"))
        shape = await self._existing(asked.handle, resolved, request.caller_key)
        self._count("live" if asked.is_live else "log")
        await self._compare_if_due(shape)
        response = await self._log(shape, asked.offset, is_live=asked.is_live, has_file=has_file)
        return unchanged(response, header(request.headers, "if-none-match"))

    async def _resolve(self, request: Request, asked: ShapeRequest) -> ResolvedShape:
        if isinstance(request.caller, RejectedCaller):
            raise TokenRejected(request.caller.message)
        identity = self._identities().of(request.caller)
        return await self._registry.definitions.resolved_for(asked.definition, identity.role, identity.claims)

    async def _existing(self, handle: str, resolved: ResolvedShape, caller_key: str) -> Shape:
        """Return the shape of a handle. Raises: MustRefetch with the caller's own shape if it is not one of this caller's."""
        shape = self._registry.find(handle, resolved.key)
        if shape is None:
            successor = await self._registry.obtain(resolved, caller_key)
            raise MustRefetch(successor.handle)
        return shape

    # Parts of the log

    def _is_shared(self, mark: str | None) -> bool:
        """Return whether the edge that asks has the folder of the shapes, by its mark."""
        return bool(mark) and mark == folder_mark(self._folder)

    async def _start(self, place: Place, shape: Shape, *, has_file: bool) -> Response:
        if place is Place.NOW:
            await shape.wait_until_built()
            shape.check()
            await self._compare_if_due(shape)
            await shape.settled(_SETTLE_S)
            offset = shape.end_offset
            return log_answer(
                shape.handle, place.value, offset, [], position=shape.position, schema=_schema(shape.resolved)
            )
        if not shape.resolved.definition.has_snapshot:
            await shape.wait_until_built()
            shape.check()
            end = [snapshot_end(shape.snapshot)]
            schema = _schema(shape.resolved)
            return log_answer(shape.handle, place.value, (0, 0), end, position=None, schema=schema)
        await self._compare_if_due(shape)
        return await self._chunk(shape, 0, place.value, has_file=has_file)

    async def _chunk(self, shape: Shape, number: int, asked: str, *, has_file: bool) -> Response:
        """Return a chunk of the snapshot; the last one ends with `snapshot-end`. `has_file`: the edge takes it from the file."""
        is_there = await shape.wait_for_chunk(number)
        shape.check()
        if not is_there:
            raise InvalidParameters("offset", "out of bounds for this shape")
        async with shape.lock:
            shape.check()
            body: bytes | FilePart
            if has_file:
                at, size = shape.store.place_of_chunk(number)
                body = FilePart(shape.handle, at, size)
            else:
                body = await in_thread(partial(shape.store.chunk, number))
        return chunk_answer(shape.handle, asked, number, body, _schema(shape.resolved))

    async def _log(
        self, shape: Shape, offset: Offset, *, is_live: bool, has_file: bool = False, is_final: bool = True
    ) -> Response:
        """Return what is behind an offset; with `is_live` the answer to wait where there is nothing."""
        lsn, number = offset
        if lsn == 0 and number != INFINITE and shape.resolved.definition.has_snapshot:
            if shape.state is ShapeState.BUILDING or number < shape.chunks - 1:
                if await shape.wait_for_chunk(number + 1):
                    return await self._chunk(shape, number + 1, offset_text(offset), has_file=has_file)
                shape.check()
            if number >= max(shape.chunks, 1):
                raise InvalidParameters("offset", "out of bounds for this shape")
        await shape.wait_until_built()
        shape.check()
        await self._wait_for(shape, max(lsn, 1))  # after a restart none is known until what waited is applied
        if not await shape.settled(_SETTLE_S):
            raise ShapeNotReady("a change is being applied, please retry")
        bodies, last, is_end, position = await shape.read_log(offset)
        shape.check()
        if not bodies and is_live:
            return wait_answer(shape.handle, offset)
        schema = "" if is_live or not is_final else _schema(shape.resolved)
        return log_answer(
            shape.handle,
            offset_text(offset),
            last,
            bodies,
            position=position if is_end else None,
            schema=schema,
            is_live=is_live or not is_final,
        )

    async def _wait_for(self, shape: Shape, lsn: int) -> None:
        """Wait until the log is known up to a position that a client has received, perhaps before a restart.

        Raises: ShapeNotReady if that takes long; InvalidParameters for a position that the database has not reached.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _BEHIND_S
        while lsn > shape.position:
            if loop.time() > deadline:
                if lsn <= await read_position(self._registry.database):
                    raise ShapeNotReady("the changes up to this offset are still being read, please retry")
                raise InvalidParameters("offset", "out of bounds for this shape")
            await asyncio.sleep(_PAUSE_S)
            shape.check()

    async def _continue(self, query: str) -> Response:
        """Answer the question of an edge for requests that wait. `final`: their time is over, so the answer is never to wait."""
        options = {name: values[-1] for name, values in parse_qs(query).items()}
        shape = self._registry.by_handle.get(options.get("handle", ""))
        if shape is None:
            raise MustRefetch
        lsn, _, number = options["offset"].partition("_")
        offset = int(lsn), INFINITE if number == "inf" else int(number)
        self._registry.used(shape)
        response = await self._log(shape, offset, is_live=True)
        if response.status == 200 or "final" not in options:
            return response
        position = shape.position
        return log_answer(shape.handle, options["offset"], offset, [], position=position, is_live=True)

    async def _compare_if_due(self, shape: Shape) -> None:
        """Compare the keys of a shape that was not asked for lately, if its policies may depend on anything."""
        now = asyncio.get_running_loop().time()
        if (
            shape.resolved.is_opaque
            and shape.state is ShapeState.LIVE
            and now - shape.compared_at > 10 * COMPARED_S
        ):
            await shape.compare(self._registry.database)

    # Subsets

    async def _subset(self, asked: ShapeRequest, resolved: ResolvedShape, caller_key: str) -> Response:
        assert asked.subset is not None
        where, order = await resolve_subset(self._registry.database, resolved, asked.subset)
        if isinstance(asked.offset, Place):
            shape = await self._registry.obtain(resolved, caller_key)
        else:
            shape = await self._existing(asked.handle, resolved, caller_key)
        await shape.wait_until_built()
        shape.check()
        offset = shape.end_offset
        mark = secrets.randbelow(2**31)
        terms = where, order, asked.subset.limit, asked.subset.offset, mark
        has_tags = resolved.definition.has_tags
        rows: list[bytes] = []
        size = 0
        async with open_snapshot(
            self._registry.database, resolved.session, has_output=not has_tags
        ) as snapshot:
            sql = resolved.sql
            pages = (
                snapshot.tagged_pages(*sql.with_rows(*terms))
                if has_tags
                else snapshot.pages(sql.subset(*terms))
            )
            async for page in pages:
                rows += page
                size += sum(map(len, page))
                if size > _MOST_SUBSET:
                    text = f"the subset is longer than {_MOST_SUBSET} bytes: give a limit"
                    raise InvalidParameters("limit", text, is_of_subset=True)
        metadata = {
            **snapshot_parts(snapshot.point.text),
            "snapshot_mark": mark,
            "database_lsn": str(snapshot.point.lsn),
        }
        return subset_answer(shape.handle, offset, _schema(resolved), metadata, rows)

    async def _named(self, request: Request, handle: str) -> Shape | None:
        """Return the shape of a handle if it is one of this caller; another caller's is as unknown as one that never was."""
        named = self._registry.by_handle.get(handle)
        if named is None:
            return None
        try:
            asked = ShapeRequest(named.resolved.definition, Place.START, handle)
            resolved = await self._resolve(request, asked)
        except (InvalidParameters, ShapeForbidden):
            return None
        return self._registry.find(handle, resolved.key)

    async def _delete(self, request: Request) -> Response:
        if not self._registry.settings.allow_delete:
            raise DeleteNotAllowed
        options = dict(parse_qsl(request.query))
        handle = options.get("handle", "")
        if handle and "table" not in options:
            shape = await self._named(request, handle)
        else:
            resolved = await self._resolve(request, parse_request(request.query, b"", needs_offset=False))
            find = self._registry.find
            shape = find(handle, resolved.key) if handle else self._registry.current(resolved.key)
        if shape is None:
            raise ShapeUnknown
        self._registry.end(shape, "a client deleted it")
        return Response(202)


def _schema(resolved: ResolvedShape) -> str:
    return schema_header(resolved.columns, resolved.table.key)
