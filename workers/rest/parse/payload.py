"""Bodies: JSON, CSV, forms and raw arguments, made ready for the database.

Postgres converts the values; here only the names of the columns are read, and the shape is checked.
Source: docs/reference/rest.md, sections 13.1 and 14.
"""

import asyncio
import csv
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec

from workers.rest.errors.parse import BadBody
from workers.rest.model import ApiRequest, Payload, RequestAction
from workers.rest.parse.uniform_rows import check_json, first_names, has_names

T = TypeVar("T")

JSON, CSV, FORM = "application/json", "text/csv", "application/x-www-form-urlencoded"
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()
_CSV_ROWS_AT_ONCE = 1000
_LONG = 64 * 1024
"""Bytes that take a few milliseconds; 5 MB take seconds."""
_thread = ThreadPoolExecutor(1, "rest")
"""One thread, as for large documents of GraphQL: several would leave the event loop a small share of the interpreter."""
csv.field_size_limit(2**31 - 1)  # the body as a whole is bounded already; 128 KiB a field is too little


def parse_rows(content_type: str, body: bytes, columns: tuple[str, ...] | None) -> Payload:
    """Read the rows of a write. With `columns` the names are known and a JSON body is not looked into.

    Raises: BadBody.
    """
    match content_type:
        case "application/json":
            return _json_rows(body, columns)
        case "text/csv":
            return _csv_rows(body)
        case "application/x-www-form-urlencoded":
            fields = dict(_form(body))
            return Payload("json", msgspec.json.encode(fields), tuple(sorted(fields)))
    raise BadBody(f"Content-Type not acceptable: {content_type}")


def parse_payload(request: ApiRequest, data: bytes) -> Payload:
    """Read the body of a write or a call. Raises: BadBody."""
    if reads_rows(request):
        return Payload("json", data)  # it is taken apart against the catalog
    parse = parse_arguments if request.action is RequestAction.CALL else parse_rows
    payload = parse(request.content_type, data, request.query.columns)
    if request.query.key is not None and request.action is RequestAction.UPDATE:
        check_keys(payload, request.query.key)
    return payload


def is_read_slowly(request: ApiRequest, size: int) -> bool:
    """Return whether a body of this size is read value by value, in code of ours: a few megabytes take seconds then."""
    has_keys = request.query.key is not None and request.action is RequestAction.UPDATE
    return size > _LONG and (request.content_type in (CSV, FORM) or has_keys or reads_rows(request))


def reads_rows(request: ApiRequest) -> bool:
    """Return whether a body is taken apart into rows of several relations."""
    return request.query.nested and request.action is RequestAction.CREATE


async def read_payload(request: ApiRequest, data: bytes) -> Payload:
    """Read a body as `parse_payload` does, one that is read slowly beside other requests. Raises: BadBody."""
    if is_read_slowly(request, len(data)):
        return await beside_others(parse_payload, request, data)
    return parse_payload(request, data)


async def beside_others(work: Callable[..., T], *arguments: object) -> T:
    """Call a function in the thread of slow bodies, while the event loop serves other requests. Raises: as the function."""
    return await asyncio.get_running_loop().run_in_executor(_thread, lambda: work(*arguments))


def check_keys(payload: Payload, key: tuple[str, ...]) -> None:
    """See that no two objects name the same row by their key columns. Raises: BadBody."""
    seen: set[tuple[str | None, ...]] = set()
    try:
        rows = _objects.decode(payload.data) if payload.is_array else [_object.decode(payload.data)]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadBody("Empty or invalid json") from None  # with `columns` the body has not been decoded yet
    for number, row in enumerate(rows, start=1):
        values = tuple(_key_text(row[name]) if name in row else None for name in key)
        if None in values:
            raise BadBody(f"Object {number} of the body has no value for a key column")
        if values in seen:
            raise BadBody(f"Object {number} of the body names a row that another one names too")
        seen.add(values)


def _key_text(raw: msgspec.Raw) -> str | None:
    """Return a key's value as the text that Postgres converts: 1 and "1" name the same row."""
    value = _any.decode(raw)
    return value if value is None or isinstance(value, str) else bytes(raw).decode()


def parse_arguments(content_type: str, body: bytes, columns: tuple[str, ...] | None) -> Payload:
    """Read the arguments of a function called by POST; other types are the raw argument of an unnamed parameter.

    Raises: BadBody.
    """
    match content_type:
        case "application/json":
            return _json_rows(body or b"{}", columns, is_call=True)
        case "application/x-www-form-urlencoded":
            fields = tuple(_form(body))
            return Payload("form", body, tuple(sorted({name for name, _ in fields})), form=fields)
        case "text/csv":
            return _csv_rows(body)  # as with an array, the first row counts
        case "text/plain" | "text/xml":
            return Payload("raw", body)
        case "application/octet-stream":
            return Payload("raw", b"\\x" + body.hex().encode())
    raise BadBody(f"Content-Type not acceptable: {content_type}")


def _json_rows(body: bytes, columns: tuple[str, ...] | None, *, is_call: bool = False) -> Payload:
    start = body.lstrip(b" \t\r\n")[:1]
    try:
        if start == b"[":
            return _json_array(body, columns, is_call)
        if start == b"{":
            keys = columns if columns is not None else tuple(sorted(_object.decode(body)))
            return Payload("json", body, keys)
        check_json(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadBody("Empty or invalid json") from None
    # A scalar stands for no rows; a function's single unnamed json argument takes it as it is.
    return Payload("json", body if is_call else b"[]", (), is_array=True, is_empty_array=True)


def _json_array(body: bytes, columns: tuple[str, ...] | None, is_call: bool) -> Payload:
    if columns is not None:
        empty = body.strip(b" \t\r\n[]") == b""
        return Payload("json", body, columns, is_array=True, is_empty_array=empty)
    names = first_names(body)
    match None if names is None else has_names(body, names):
        case True:
            return Payload("json", body, tuple(sorted(names or ())), is_array=True)
        case False:
            return _differing_rows(body, is_call)
    try:
        rows = _objects.decode(body)
    except msgspec.ValidationError:
        check_json(body)
        return _differing_rows(body, is_call)
    if not rows:
        return Payload("json", body, (), is_array=True, is_empty_array=True)
    keys = list(rows[0])
    is_uniform = all(map(keys.__eq__, map(list, rows)))  # as most are: the same names in the same order
    if not is_uniform and any(row.keys() != rows[0].keys() for row in rows):
        return _differing_rows(body, is_call)
    return Payload("json", body, tuple(sorted(keys)), is_array=True)


def _differing_rows(body: bytes, is_call: bool) -> Payload:
    """Return an array that a function may take as a whole. Raises: BadBody for a write."""
    if not is_call:
        raise BadBody("All object keys must match")
    return Payload("json", body, (), is_array=True)


def _csv_rows(body: bytes) -> Payload:
    """Read a header line and rows: the bare word NULL is null, an empty field the empty string.

    Rows become JSON some at a time: a body of short lines has millions of them.
    """
    data, has_other_width = bytearray(b"["), False
    header: list[str] = []
    objects: list[dict[str, str | None]] = []
    try:
        for row in csv.reader(io.StringIO(body.decode(), newline=""), strict=True):
            if not row:
                continue
            if not header:
                header = row
            elif len(row) != len(header):
                has_other_width = True  # the rest is read all the same: that it is no CSV counts more
            elif not has_other_width:
                values = [None if value == "NULL" else value for value in row] if "NULL" in row else row
                objects.append(dict(zip(header, values, strict=True)))
                if len(objects) == _CSV_ROWS_AT_ONCE:
                    data += _encoder.encode(objects)[1:-1] + b","
                    objects.clear()
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadBody(f"Invalid CSV: {error}") from None
    if not header:
        raise BadBody("Empty or invalid CSV")
    if has_other_width:
        raise BadBody("All lines must have same number of fields")
    data += _encoder.encode(objects)[1:]
    if not objects and len(data) > len(b"[]"):
        del data[-2]  # the comma behind the last full part
    is_empty = len(data) == len(b"[]")
    return Payload("json", bytes(data), tuple(sorted(set(header))), is_array=True, is_empty_array=is_empty)


def _form(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=10_000)
    except (ValueError, UnicodeDecodeError) as error:
        raise BadBody(f"Invalid form: {error}") from None
