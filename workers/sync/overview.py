"""What administrators see of the shapes, and how they end one: requests of operations, which no client can send.

    GET /shapes?table=&limit=    the shapes that were asked for last, their identities, sizes and waiters
    DELETE /shapes?handle=       ends a shape: its clients read again

How many requests wait is counted in the edges, which are asked for it.
"""

import asyncio
import time
from urllib.parse import parse_qs

import msgspec

from broker.codec import InvalidMessage, decoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.gather import gather_replies
from broker.subjects import SHAPES_CHANGED
from schemas.http import Request, Response
from schemas.sync import EndedShape, ShapeDescription, ShapeList, ShapesChanged, ShapeWaiters
from workers.sync.errors import ShapeMethodNotAllowed, ShapeUnknown
from workers.sync.registry import ShapeRegistry
from workers.sync.shape import Shape

_MOST = 1000
_LONGEST = 300
"""Characters of a parameter or a claim that are shown."""
_MOST_CLAIMS = 50
_SHARED_BY = {1: "role", 2: "claims", 3: "caller"}
_decode_waiters = decoder(ShapeWaiters)


class ShapesOverview:
    """Answers requests of operations about all shapes."""

    def __init__(self, connection: NatsConnection, registry: ShapeRegistry) -> None:
        self._connection, self._registry = connection, registry

    async def answer(self, request: Request) -> Response:
        """Answer a request. Raises: ShapeUnknown, ShapeMethodNotAllowed."""
        options = {name: values[-1] for name, values in parse_qs(request.query).items()}
        match request.method:
            case "GET":
                return _json(await self._list(options.get("table", ""), int(options.get("limit", _MOST))))
            case "DELETE":
                return _json(self._end(options.get("handle", "")))
        raise ShapeMethodNotAllowed(request.method)

    async def _list(self, table: str, limit: int) -> ShapeList:
        waiting = await self._waiting()
        registry = self._registry
        shapes = sorted(registry.by_handle.values(), key=lambda shape: -shape.used_at)
        matching = [shape for shape in shapes if not table or table in _names(shape)]
        chosen = matching[: max(0, min(limit, _MOST))]
        sizes = await asyncio.to_thread(lambda: [_sizes(shape) for shape in chosen])
        return ShapeList(
            [
                _described(shape, waiting.get(shape.handle, 0), size)
                for shape, size in zip(chosen, sizes, strict=True)
            ],
            len(matching),
            registry.total_size,
            sum(waiting.get(shape.handle, 0) for shape in matching),
        )

    async def _waiting(self) -> dict[str, int]:
        """Return how many requests wait in all edges, by handle."""
        total: dict[str, int] = {}
        for payload in await gather_replies(self._connection, SHAPES_CHANGED.name, encode(ShapesChanged())):
            try:
                report = _decode_waiters(payload)
            except InvalidMessage:
                continue
            for handle, count in report.waiting.items():
                total[handle] = total.get(handle, 0) + count
        return total

    def _end(self, handle: str) -> EndedShape:
        shape = self._registry.by_handle.get(handle)
        if shape is None:
            raise ShapeUnknown
        self._registry.end(shape, "an administrator ended it")
        table = shape.resolved.table
        return EndedShape(handle, table.schema, table.name, shape.resolved.identity.role)


def _names(shape: Shape) -> tuple[str, str]:
    table = shape.resolved.table
    return table.name, f"{table.schema}.{table.name}"


def _sizes(shape: Shape) -> tuple[int, int]:
    try:
        return shape.store.sizes()
    except OSError:  # it ends at this moment
        return 0, 0


def _described(shape: Shape, waiting: int, sizes: tuple[int, int]) -> ShapeDescription:
    resolved, definition, identity = shape.resolved, shape.resolved.definition, shape.resolved.identity
    created_s = int(shape.handle.rpartition("-")[2]) / 1e6
    return ShapeDescription(
        shape.handle,
        resolved.table.schema,
        resolved.table.name,
        definition.where,
        [value if value is None else value[:_LONGEST] for value in definition.params],
        [column.name for column in resolved.columns],
        "full" if definition.is_full else "default",
        "full" if definition.has_snapshot else "changes_only",
        definition.has_tags,
        identity.role,
        _SHARED_BY[identity.kind],
        _claims(identity.claims),
        shape.state.value,
        shape.is_behind,
        waiting,
        *sizes,
        max(0.0, time.time() - created_s),
        time.monotonic() - shape.used_at if shape.used_at else None,
    )


def _claims(encoded: bytes) -> dict[str, object]:
    """Return claims for people to read: a long value is cut."""
    claims = msgspec.json.decode(encoded, type=dict[str, object])
    shown: dict[str, object] = {}
    for name, value in list(claims.items())[:_MOST_CLAIMS]:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        shown[name] = value if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return shown


def _json(value: ShapeList | EndedShape) -> Response:
    return Response(200, [("content-type", "application/json")], msgspec.json.encode(value))
