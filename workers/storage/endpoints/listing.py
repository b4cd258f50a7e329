"""Listing endpoints: the direct children of a folder, or all keys with a prefix in pages; only objects that the caller
may see.

Source: docs/reference/storage.md, sections 6.5 and 6.6.
"""

from typing import Any

import orjson

from schemas.http import Response
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import Statement
from workers.storage.model.cursors import COLUMNS, ORDERS, ListingCursor, parse_cursor
from workers.storage.model.names_and_sizes import parse_prefix
from workers.storage.objects.rows import SQL
from workers.storage.requests.body_reader import BodyReader
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest, json_response, raw_json_response

_FAR = 2**31 - 1
_MOST = 1500
_MOST_V2 = 1000
_COLUMNS_V1 = (*COLUMNS, "last_accessed_at")


async def listing(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/list/{bucket}`; with `recursive` every object below the folder, sorted by name
    (docs/storage-additions.md).
    """
    read = request.read()
    prefix = read.text("prefix")
    limit = min(read.integer("limit", 100, least=1), _MOST)
    offset = read.integer("offset", 0, least=0, most=_FAR)
    search, is_deep = read.text("search"), read.flag("recursive")
    column, order = _sorting(read, _COLUMNS_V1)
    folder = parse_prefix(prefix)
    if folder and not folder.endswith("/"):
        folder += "/"
    values: tuple[str | int | bool, ...]
    if is_deep:
        name = "search_deep"
        values = (request.bucket, folder, limit, offset, search, order == "desc")
    elif column == "name":
        name = "children"
        values = (request.bucket, folder, search, order == "desc", limit, offset)
    else:
        name = "search"
        levels = folder.count("/") + 1
        values = (folder, request.bucket, limit, levels, offset, search, column, order)
    if not request.caller.is_service:
        rows = await context.read(request.as_caller(), statement(SQL[name], *values))
        return raw_json_response(rows[0][0][0])
    reading = context.pages.read(name, values)
    rows = await context.read(request.as_caller(), reading.statement)
    return raw_json_response(reading.page(rows[0]))


async def listing_v2(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/list-v2/{bucket}`."""
    read = request.read()
    prefix, cursor_text = parse_prefix(read.text("prefix")), read.text("cursor")
    limit = min(read.integer("limit", _MOST_V2, least=1), _MOST_V2)
    is_folded = read.flag("with_delimiter")
    column, order = _sorting(read, COLUMNS)
    cursor = parse_cursor(cursor_text) if cursor_text else ListingCursor(order=order, column=column)
    page = _folded(request, prefix, limit, cursor) if is_folded else _flat(request, prefix, limit, cursor)
    rows = (await context.read(request.as_caller(), page))[0]
    return json_response(_page(rows, limit, cursor))


def _sorting(read: BodyReader, columns: tuple[str, ...]) -> tuple[str, str]:
    """Read `sortBy` and check the body. Raises: StorageError."""
    sort = read.inner("sortBy")
    if sort is None:
        read.check()
        return "name", "asc"
    column = sort.choice("column", ("", *columns), needed=True)
    order = sort.choice("order", ("", *ORDERS))
    read.check(sort)
    return column or "name", order or "asc"


def _folded(request: StorageRequest, prefix: str, limit: int, cursor: ListingCursor) -> Statement:
    levels = prefix.count("/") + 1
    values = (
        prefix,
        request.bucket,
        limit + 1,
        levels,
        cursor.last,
        cursor.order,
        cursor.column,
        cursor.after,
    )
    return statement(SQL["search_v2"], *values)


def _flat(request: StorageRequest, prefix: str, limit: int, cursor: ListingCursor) -> Statement:
    is_descending = cursor.order == "desc"
    values = (request.bucket, prefix, limit + 1, cursor.last)
    if cursor.column == "name":
        return statement(SQL["flat_backwards" if is_descending else "flat"], *values)
    after = cursor.after or "epoch"
    return statement(SQL["flat_by_date"], *values, after, cursor.column, is_descending)


def _page(rows: Rows, limit: int, cursor: ListingCursor) -> dict[str, object]:
    entries: list[dict[str, Any]] = [orjson.loads(row[0] or b"{}") for row in rows]
    has_next, visible = len(entries) > limit, entries[:limit]
    page: dict[str, object] = {"hasNext": has_next}
    if has_next:
        last = visible[-1]
        after = "" if cursor.column == "name" else last[cursor.column] or "1970-01-01T00:00:00.000Z"
        page["nextCursor"] = ListingCursor(last["name"], cursor.order, cursor.column, after).text()
        page["nextCursorKey"] = last["name"]
    page["folders"] = [entry for entry in visible if entry["id"] is None]
    page["objects"] = [entry for entry in visible if entry["id"] is not None]
    return page
