"""Listings: what is right below a folder, or page by page all keys with a prefix; always what the caller sees.

Source: reference page "storage", sections 6.5 and 6.6.
"""

from typing import Any

import orjson

from schemas.http import Response
from workers.database.interactive import statement
from workers.database.session import Rows, Statement
from workers.storage.asked import Asked, answer, answer_raw
from workers.storage.context import Store
from workers.storage.cursors import COLUMNS, ORDERS, Cursor, parse_cursor
from workers.storage.objects import SQL
from workers.storage.reading import Reader
from workers.storage.rules import parse_prefix

_FAR = 2**31 - 1
_MOST = 1500
_MOST_V2 = 1000
_COLUMNS_V1 = (*COLUMNS, "last_accessed_at")


async def listing(store: Store, asked: Asked) -> Response:
    """`POST object/list/{bucket}`; with `recursive` all that is below, by name (docs/storage-additions.md)."""
    read = asked.read()
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
        values = (asked.bucket, folder, limit, offset, search, order == "desc")
    else:
        levels = folder.count("/") + 1
        values = (folder, asked.bucket, limit, levels, offset, search, column, order)
    rows = await store.run(asked.as_caller(), statement(SQL["search_deep" if is_deep else "search"], *values))
    return answer_raw(rows[0][0][0])


async def listing_v2(store: Store, asked: Asked) -> Response:
    """`POST object/list-v2/{bucket}`."""
    read = asked.read()
    prefix, given = parse_prefix(read.text("prefix")), read.text("cursor")
    limit = min(read.integer("limit", _MOST_V2, least=1), _MOST_V2)
    is_folded = read.flag("with_delimiter")
    column, order = _sorting(read, COLUMNS)
    cursor = parse_cursor(given) if given else Cursor(order=order, column=column)
    page = _folded(asked, prefix, limit, cursor) if is_folded else _flat(asked, prefix, limit, cursor)
    rows = (await store.run(asked.as_caller(), page))[0]
    return answer(_page(rows, limit, cursor))


def _sorting(read: Reader, columns: tuple[str, ...]) -> tuple[str, str]:
    """Read `sortBy`, and check the body. Raises: StorageError."""
    sort = read.inner("sortBy")
    if sort is None:
        read.check()
        return "name", "asc"
    column = sort.choice("column", ("", *columns), needed=True)
    order = sort.choice("order", ("", *ORDERS))
    read.check(sort)
    return column or "name", order or "asc"


def _folded(asked: Asked, prefix: str, limit: int, cursor: Cursor) -> Statement:
    levels = prefix.count("/") + 1
    values = (prefix, asked.bucket, limit + 1, levels, cursor.last, cursor.order, cursor.column, cursor.after)
    return statement(SQL["search_v2"], *values)


def _flat(asked: Asked, prefix: str, limit: int, cursor: Cursor) -> Statement:
    is_descending = cursor.order == "desc"
    values = (asked.bucket, prefix, limit + 1, cursor.last)
    if cursor.column == "name":
        return statement(SQL["flat_backwards" if is_descending else "flat"], *values)
    after = cursor.after or "epoch"
    return statement(SQL["flat_by_date"], *values, after, cursor.column, is_descending)


def _page(rows: Rows, limit: int, cursor: Cursor) -> dict[str, object]:
    found: list[dict[str, Any]] = [orjson.loads(row[0] or b"{}") for row in rows]
    has_next, shown = len(found) > limit, found[:limit]
    page: dict[str, object] = {"hasNext": has_next}
    if has_next:
        last = shown[-1]
        after = "" if cursor.column == "name" else last[cursor.column] or "1970-01-01T00:00:00.000Z"
        page["nextCursor"] = Cursor(last["name"], cursor.order, cursor.column, after).text()
        page["nextCursorKey"] = last["name"]
    page["folders"] = [each for each in shown if each["id"] is None]
    page["objects"] = [each for each in shown if each["id"] is not None]
    return page
