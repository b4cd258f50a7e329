"""Parses the parameters of a request: query and body -> `ShapeRequest`. Pure.

A parameter that is not named here is ignored: caches and clients add their own (`cache-buster`, `expired_handle`).
Source: docs/sync.md.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from urllib.parse import parse_qsl

import msgspec

from schemas.numbers import parse_whole_number
from workers.sync.errors import InvalidParameters
from workers.sync.names import TableName, parse_columns, parse_table

MAX_TEXT = 64 * 1024
"""Characters of a `where` or of another text."""
MAX_PARAMS = 1000
_MAX_FIELDS = 2000
_OFFSET = re.compile(r"(\d{1,20})_(\d{1,10}|inf)", re.ASCII)
_PARAM = re.compile(r"params\[(\d{1,4})\]", re.ASCII)
_SUBSET = "subset__"
_SUBSET_MEMBERS = frozenset({"where", "params", "limit", "offset", "order_by", "where_expr", "order_by_expr"})
_OF_BODY = frozenset({"table", "columns", "queryable_columns", "replica", "log", "etags", "handle"})
"""Parameters that a body may have beside a subset. `where`, `params` and `offset` are those of the subset there."""
_MOST_LSN = 2**63 - 1
_MOST_ROWS = 10**9
INFINITE = 2**62
"""The operation of an offset `<lsn>_inf`: behind all of that position."""
BLANK = "can't be blank"


class Place(Enum):
    """The two offsets that are no positions."""

    START = "-1"
    NOW = "now"


Offset = tuple[int, int]
"""Position of a commit, and number of the message in its transaction."""


@dataclass(frozen=True, slots=True)
class SubsetRequest:
    """Part of a shape's rows, read once."""

    where: str = ""
    params: tuple[str | None, ...] = ()
    limit: int | None = None
    offset: int | None = None
    order_by: str = ""


@dataclass(frozen=True, slots=True)
class ShapeDefinition:
    """What a shape consists of, as the client wrote it. `columns` None: all that the caller may read."""

    table: TableName
    where: str = ""
    params: tuple[str | None, ...] = ()
    columns: tuple[str, ...] | None = None
    is_full: bool = False
    """`replica=full`: changes carry whole rows."""
    has_snapshot: bool = True
    """Not `log=changes_only`."""
    has_tags: bool = False
    """`etags=true`: first rows and rows of subsets have tags, as changes always do."""
    queryable: tuple[str, ...] | None = None
    """`queryable_columns`: those that `columns`, and the filters and orders of subsets, may name."""


@dataclass(frozen=True, slots=True)
class ShapeRequest:
    """One request."""

    definition: ShapeDefinition
    offset: Offset | Place
    handle: str = ""
    is_live: bool = False
    is_sse: bool = False
    subset: SubsetRequest | None = None


def parse_request(query: str, body: bytes, *, needs_offset: bool = True) -> ShapeRequest:
    """Parse a request. Raises: InvalidParameters."""
    sent = _sent(body)
    options = _options(query) | {name: _of_body(sent, name) for name in _OF_BODY & sent.keys()}
    definition = parse_definition(options)
    subset = _subset(options, sent)
    place = _offset(options) if needs_offset or "offset" in options else Place.START
    handle = options.get("handle", "")
    is_live = _flag(options, "live")
    is_sse = _flag(options, "live_sse") or _flag(options, "experimental_live_sse")
    if is_live and isinstance(place, Place):
        raise InvalidParameters("live", f"can't be true when offset == {place.value}")
    if is_sse and not is_live:
        name = "live_sse" if "live_sse" in options else "experimental_live_sse"
        raise InvalidParameters(name, "can't be true unless live is also true")
    if needs_offset and not handle and not isinstance(place, Place):
        raise InvalidParameters("handle", f"{BLANK} when offset != -1")
    return ShapeRequest(definition, place, handle, is_live, is_sse, subset)


def parse_definition(options: Mapping[str, str]) -> ShapeDefinition:
    """Parse what a shape consists of. Raises: InvalidParameters."""
    where = _text(options, "where")
    return ShapeDefinition(
        parse_table(options.get("table", "")),
        where,
        _params(options),
        _columns(options, "columns"),
        _choice(options, "replica", ("default", "full")) == "full",
        _choice(options, "log", ("full", "changes_only")) == "full",
        _choice(options, "etags", ("false", "true")) == "true",
        _columns(options, "queryable_columns"),
    )


def offset_text(offset: Offset) -> str:
    """Return an offset as clients send it."""
    lsn, number = offset
    return f"{lsn}_{'inf' if number == INFINITE else number}"


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise InvalidParameters("query", "has invalid format") from None
    if any("\0" in value for _, value in pairs):
        raise InvalidParameters("query", "has invalid format: a character that no text can hold")
    return dict(pairs)


def _offset(options: Mapping[str, str]) -> Offset | Place:
    text = options.get("offset", "")
    if not text:
        raise InvalidParameters("offset", BLANK)
    if text in ("-1", "now"):
        return Place(text)
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise InvalidParameters("offset", "has invalid format")
    lsn = int(match.group(1))
    if lsn > _MOST_LSN:
        raise InvalidParameters("offset", "out of bounds for this shape")
    return lsn, INFINITE if match.group(2) == "inf" else int(match.group(2))


def _columns(options: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    return None if options.get(name) is None else parse_columns(options[name], name)


def _flag(options: Mapping[str, str], name: str) -> bool:
    return name in options and options[name] != "false"


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, str]) -> str:
    value = options.get(name) or choices[0]
    if value not in choices:
        raise InvalidParameters(name, f"is invalid: must be {choices[0]} or {choices[1]}")
    return value


def _text(options: Mapping[str, str], name: str) -> str:
    value = options.get(name, "")
    if len(value) > MAX_TEXT:
        raise InvalidParameters(name, f"is longer than {MAX_TEXT} characters")
    return value


def _params(options: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the values of `params[1]`..., or of one JSON object."""
    numbered = {
        int(match.group(1)): value for name, value in options.items() if (match := _PARAM.fullmatch(name))
    }
    if not numbered and options.get("params"):
        return read_params(options["params"].encode(), "params", is_of_subset=False)
    if any(name.startswith("params[") and not _PARAM.fullmatch(name) for name in options):
        raise InvalidParameters("params", "keys must be numbers, starting from 1")
    return _in_order(numbered, "params", is_of_subset=False)


def read_params(text: bytes, name: str, *, is_of_subset: bool) -> tuple[str | None, ...]:
    """Read a JSON object with numbers as keys. Raises: InvalidParameters."""
    try:
        values = msgspec.json.decode(text, type=dict[str, str | int | float | bool | None])
        places = {key: parse_whole_number(key, least=1, most=MAX_PARAMS) for key in values}
        numbered = {place: _as_text(values[key]) for key, place in places.items() if place is not None}
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        raise InvalidParameters(name, "must be an object of texts", is_of_subset=is_of_subset) from None
    if len(numbered) != len(values):
        raise InvalidParameters(name, "keys must be numbers, starting from 1", is_of_subset=is_of_subset)
    return _in_order(numbered, name, is_of_subset=is_of_subset)


def _in_order(numbered: Mapping[int, str | None], name: str, *, is_of_subset: bool) -> tuple[str | None, ...]:
    if len(numbered) > MAX_PARAMS or sorted(numbered) != list(range(1, len(numbered) + 1)):
        raise InvalidParameters(
            name, "parameters must be numbered sequentially, starting from 1", is_of_subset=is_of_subset
        )
    return tuple(numbered[place] for place in range(1, len(numbered) + 1))


def _as_text(value: str | float | bool | None) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is not None and "\0" in str(value):
        raise ValueError("a character that no text can hold")
    return None if value is None else str(value)


def _sent(body: bytes) -> dict[str, object]:
    """Return the members of a body."""
    if not body.strip():
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidParameters("body", "must be a JSON object") from None


def _of_body(sent: Mapping[str, object], name: str) -> str:
    value = sent[name]
    if not isinstance(value, str) or "\0" in value:
        raise InvalidParameters(name, "must be a text")
    return value


def _subset(options: Mapping[str, str], sent: Mapping[str, object]) -> SubsetRequest | None:
    """Return the subset that a query or a body asks for. A body wins over the query."""
    inner = sent.get("subset", sent)
    if not isinstance(inner, dict):
        raise InvalidParameters("subset", "must be an object")
    members: dict[str, object] = {
        name.removeprefix(_SUBSET): value for name, value in options.items() if name.startswith(_SUBSET)
    }
    members |= {name: value for name, value in inner.items() if name in _SUBSET_MEMBERS}
    if not members:
        return None
    return _read_subset(members)


def _read_subset(members: Mapping[str, object]) -> SubsetRequest:
    where, order_by = _member(members, "where"), _member(members, "order_by")
    params = members.get("params") or ()
    values: tuple[str | None, ...] = ()
    if params:
        text = params.encode() if isinstance(params, str) else msgspec.json.encode(params)
        values = read_params(text, "params", is_of_subset=True)
    limit, offset = _number(members, "limit", 1), _number(members, "offset", 0)
    if not order_by and (limit is not None or offset is not None):
        raise InvalidParameters(
            "order_by", "order_by is required when limit or offset is present", is_of_subset=True
        )
    return SubsetRequest(where, values, limit, offset, order_by)


def _member(members: Mapping[str, object], name: str) -> str:
    value = members.get(name) or ""
    if not isinstance(value, str):
        raise InvalidParameters(name, "must be a text", is_of_subset=True)
    if len(value) > MAX_TEXT or "\0" in value:
        raise InvalidParameters(name, f"is longer than {MAX_TEXT} characters", is_of_subset=True)
    return value


def _number(members: Mapping[str, object], name: str, least: int) -> int | None:
    value = members.get(name)
    if value is None or value == "":
        return None
    number = None if isinstance(value, bool) else parse_whole_number(str(value), least=least, most=_MOST_ROWS)
    if number is None:
        raise InvalidParameters(name, f"must be a whole number of at least {least}", is_of_subset=True)
    return number
