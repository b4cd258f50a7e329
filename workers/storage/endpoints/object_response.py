"""The response that carries an object: our headers, and a `BlobClaim` that the gateway replaces by the bytes.

The gateway handles range and conditional requests. Source: docs/reference/storage.md, section 6.3.
"""

from datetime import datetime
from email.utils import formatdate
from urllib.parse import quote

from schemas.blobs import BlobClaim
from schemas.http import Headers, Response
from workers.storage.objects.rows import ObjectRow, cache_control_for, object_headers
from workers.storage.requests.storage_request import StorageRequest

_UNESCAPED = "-_.!~*'()"
"""The characters that `encodeURIComponent` does not escape, in addition to letters and digits."""


def object_response(request: StorageRequest, row: ObjectRow, expires_at: float | None = None) -> Response:
    """Return an object. If a token gave access, caches keep the response until the token expires. Raises: StorageError."""
    headers = [*object_headers(row), *caching(request, row, expires_at), *disposition(request)]
    claim = BlobClaim(row.blob, row.size, row.etag, epoch_seconds(row.modified))
    return Response(200, headers, claim=claim)


def caching(request: StorageRequest, row: ObjectRow, expires_at: float | None) -> Headers:
    """Return the cache headers of a response. Raises: StorageError."""
    if expires_at is not None:
        return [("expires", formatdate(min(expires_at, 253402300799), usegmt=True))]
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
