"""The response that carries an object: our headers, and a `BlobClaim` that the gateway replaces by the bytes.

The gateway handles range and conditional requests. Source: docs/reference/storage.md, section 6.3.
"""

from datetime import datetime
from email.utils import formatdate
from urllib.parse import quote

from schemas.blobs import BlobClaim
from schemas.http import Headers, Response
from schemas.http_dates import parse_http_date
from workers.storage.objects.rows import ObjectRow, cache_control_for, object_headers
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.uploads.write_conditions import check_read_conditions

_LAST_DATE = 253402300799.0
"""Epoch seconds of the last date that a header can hold (year 9999)."""
_UNESCAPED = "-_.!~*'()"
"""The characters that `encodeURIComponent` does not escape, in addition to letters and digits."""


def object_response(request: StorageRequest, row: ObjectRow, expires_at: float | None = None) -> Response:
    """Return an object. If a token gave access, caches keep the response until the token expires.

    `download` in the query replaces the stored `Content-Disposition`. Raises: StorageError.
    """
    check_read_conditions(request.http.headers, row.etag, row.modified)
    headers = dict([*object_headers(row), *row.content.headers()])
    headers |= dict([*caching(request, row, expires_at), *disposition(request)])
    claim = BlobClaim(row.blob, row.size, row.etag, epoch_seconds(row.modified))
    return Response(200, list(headers.items()), claim=claim)


def caching(request: StorageRequest, row: ObjectRow, expires_at: float | None) -> Headers:
    """Return the cache headers of a response. Raises: StorageError."""
    if expires_at is not None:
        stored = parse_http_date(row.content.expires)
        earliest = min(expires_at, _LAST_DATE, *([] if stored is None else [stored]))
        return [("expires", formatdate(earliest, usegmt=True))]
    return [("cache-control", cache_control_for(row, request.header("if-none-match")))]


def disposition(request: StorageRequest) -> Headers:
    """Return `Content-Disposition` if the query has `download`, with its value as the file name."""
    name = request.query.get("download")
    if name is None:
        return []
    if not name:
        return [("content-disposition", "attachment;")]
    escaped = quote(name, safe=_UNESCAPED)
    return [("content-disposition", f"attachment; filename={escaped}; filename*=UTF-8''{escaped}")]


def epoch_seconds(moment: datetime) -> int:
    """Return a time as whole seconds since 1970."""
    return max(0, int(moment.timestamp()))
