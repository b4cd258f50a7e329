"""A page as a request to REST, so that a program can read what the grid shows. Pure.

Source: docs/reference/rest.md, sections 6, 7 and 9.
"""

import re
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from workers.management.areas.rows.filters import PATTERNS, RowFilter, RowSort, filter_groups
from workers.management.areas.rows.table import DescribedTable
from workers.management.areas.rows.values import array_text

_PLAIN = re.compile(r"[^\W\d][\w ]*")
_RESERVED_IN_LIST = re.compile(r'[,()"\\]|^\s|\s$|^$')
_SAFE = "(),.:*\"'{}[]"


class RestRequest(Struct, frozen=True):
    """A request to REST: the path below the platform's address, and headers beside the API key."""

    path: str
    headers: dict[str, str]


def rest_request(
    table: DescribedTable,
    columns: list[str] | None,
    filters: list[RowFilter],
    sorts: list[RowSort],
    limit: int,
    schemas: list[str],
) -> RestRequest | None:
    """Return the request of a page's first rows; None if REST does not serve the schema, or cannot express a filter."""
    if table.schema not in schemas:
        return None
    pairs = [("select", ",".join(map(_name, columns)) if columns else "*")]
    for group in filter_groups(filters):
        pair = _group(table, group)
        if pair is None:
            return None
        pairs.append(pair)
    if sorts:
        pairs.append(("order", ",".join(_sort(sort) for sort in sorts)))
    pairs.append(("limit", str(limit)))
    query = "&".join(f"{quote(name, safe='')}={quote(value, safe=_SAFE)}" for name, value in pairs)
    headers = {} if table.schema == schemas[0] else {"Accept-Profile": table.schema}
    return RestRequest(f"/rest/v1/{quote(table.name, safe='')}?{query}", headers)


def _group(table: DescribedTable, group: list[RowFilter]) -> tuple[str, str] | None:
    """Return a parameter: a column and its filter, or `or` and the tree of several; None if REST cannot express one of them."""
    if not all(_is_expressible(table, row_filter) for row_filter in group):
        return None
    if len(group) == 1:
        return _name(group[0].column), _operator(group[0]) + _operand(group[0])
    return "or", "(" + ",".join(map(_leaf, group)) + ")"


def _is_expressible(table: DescribedTable, row_filter: RowFilter) -> bool:
    """Whether REST has this filter: it compares patterns with texts only, and reads * as %."""
    is_text = table.column(row_filter.column).category == "text"
    return row_filter.op not in PATTERNS or (is_text and "*" not in str(row_filter.value))


def _leaf(row_filter: RowFilter) -> str:
    # Inside a tree a value with signs of the grammar stands in quotes; the list of `in` is part of the grammar.
    operand = _operand(row_filter)
    return f"{_name(row_filter.column)}.{_operator(row_filter)}{operand if row_filter.op == 'in' else _item(operand)}"


def _operator(row_filter: RowFilter) -> str:
    return f"{'not.' if row_filter.negated else ''}{row_filter.op}."


def _operand(row_filter: RowFilter) -> str:
    value = row_filter.value
    if row_filter.op == "in":
        return "(" + ",".join(_item(item) for item in value) + ")"
    if isinstance(value, list):
        return array_text(value)
    return _scalar(value)


def _item(value: Any) -> str:
    text = _scalar(value)
    if _RESERVED_IN_LIST.search(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return str(value)


def _sort(sort: RowSort) -> str:
    words = [_name(sort.column)]
    if sort.descending:
        words.append("desc")
    if sort.nulls_first is not None and sort.nulls_first != sort.descending:
        words.append("nullsfirst" if sort.nulls_first else "nullslast")
    return ".".join(words)


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
