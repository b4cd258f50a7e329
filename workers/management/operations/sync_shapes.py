"""Operations on shapes of sync: which there are, of whom and how large, and ending one (docs/sync.md)."""

from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from broker.subjects import SYNC
from schemas.sync import SHAPES, EndedShape, ShapeList
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.platform_pools import check_is_on
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text
from workers.management.interface.rights import Right

_NOT_FOUND = 404


class ShapesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Shapes of a table, given as `name` or `schema.name`, or of all."""

    table: Annotated[str, limits.text(200, least=0)] = ""
    limit: PageLimit = 100


class ShapeReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A shape by its handle."""

    handle: Annotated[str, limits.text(64)]


async def list_shapes(context: OperationContext, arguments: ShapesQuery) -> ShapeList:
    """Return the shapes that were asked for last. Raises: ManagementError."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    table = check_text("table", arguments.table, longest=200, least=0)
    body = await _ask(context, "GET", {"table": table, "limit": str(limit)})
    return msgspec.json.decode(body, type=ShapeList)


async def end(context: OperationContext, arguments: ShapeReference) -> EndedShape:
    """End a shape: its clients read again. Raises: ManagementError (404)."""
    handle = check_text("handle", arguments.handle, longest=64)
    body = await _ask(context, "DELETE", {"handle": handle})
    ended = msgspec.json.decode(body, type=EndedShape)
    context.before = ended
    return ended


async def _ask(context: OperationContext, method: str, query: dict[str, str]) -> bytes:
    check_is_on(SYNC.pool, context.configuration)
    response = await context.pools.request(
        SYNC, method, SHAPES, request_id=context.request_id, query=urlencode(query)
    )
    if response.status == _NOT_FOUND:
        raise not_found(f"shape {query.get('handle', '')[:80]!r}")
    if response.status != 200:
        raise ManagementError(503, "unavailable", "The pool sync does not answer now")
    return response.body


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("sync.shapes", "List shapes", ShapesQuery, ShapeList, Right.READER, list_shapes),
        Operation("sync.end_shape", "End a shape", ShapeReference, EndedShape, Right.DEVELOPER, end, changes=True),
    ]  # fmt: skip
