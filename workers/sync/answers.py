"""A shape's log -> the response to a request: status, headers and the bytes of the body. Pure.

Source: docs/sync.md.
"""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from schemas.http import FilePart, Headers, Response
from schemas.sync import HANDLE, HAS_DATA, OFFSET, SCHEMA, UP_TO_DATE, WAIT
from workers.sync.errors import NO_STORE, VARY
from workers.sync.messages import log_body, up_to_date
from workers.sync.parameters import Offset, offset_text

_JSON = ("content-type", "application/json")
_REVALIDATED = ("cache-control", "private, max-age=0, must-revalidate")
SERVER = ("electric-server", "headwater")


def log_answer(
    handle: str,
    asked: str,
    answered: Offset,
    bodies: Sequence[bytes],
    *,
    position: int | None,
    schema: str = "",
    is_live: bool = False,
) -> Response:
    """Return a part of the log. `position`: everything up to there is in it, so an up-to-date follows; `schema` empty: no header."""
    messages = list(bodies) if position is None else [*bodies, up_to_date(position)]
    offset = offset_text(answered)
    headers: Headers = [
        _JSON,
        SERVER,
        VARY,
        (HANDLE, handle),
        (OFFSET, offset),
        (HAS_DATA, "true" if bodies else "false"),
        NO_STORE if is_live else _REVALIDATED,
    ]
    if not is_live:
        suffix = f":{position}" if not bodies and position is not None else ""
        headers.append(("etag", f'"{handle}:{asked}:{offset}{suffix}"'))
    if schema:
        headers.append((SCHEMA, schema))
    if position is not None:
        headers.append((UP_TO_DATE, ""))
    return Response(200, headers, log_body(messages))


def chunk_answer(handle: str, asked: str, number: int, body: bytes | FilePart, schema: str) -> Response:
    """Return a chunk of the snapshot: its body, or where that is."""
    response = log_answer(handle, asked, (0, number), [b"{}"], position=None, schema=schema)
    if isinstance(body, FilePart):
        return structs.replace(response, body=b"", file=body)
    return structs.replace(response, body=body)


def wait_answer(handle: str, offset: Offset) -> Response:
    """Return the answer to the edge that there is nothing behind an offset yet."""
    return Response(WAIT, [SERVER, VARY, (HANDLE, handle), (OFFSET, offset_text(offset))])


def unchanged(response: Response, if_none_match: str | None) -> Response:
    """Return 304 if the client has the response already."""
    tag = next((value for name, value in response.headers if name == "etag"), "")
    if (
        not tag
        or not if_none_match
        or tag not in [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    ):
        return response
    kept = [pair for pair in response.headers if pair[0] not in ("content-type", HAS_DATA)]
    return Response(304, kept)


def subset_answer(
    handle: str, offset: Offset, schema: str, metadata: dict[str, object], rows: Sequence[bytes]
) -> Response:
    """Return the rows of a subset."""
    headers: Headers = [
        _JSON,
        SERVER,
        VARY,
        NO_STORE,
        (HANDLE, handle),
        (OFFSET, offset_text(offset)),
        (SCHEMA, schema),
        ("electric-snapshot", "true"),
    ]
    body = b'{"metadata":%b,"data":%b}' % (msgspec.json.encode(metadata), log_body(rows))
    return Response(200, headers, body)
