"""The answer that holds an object: headers of ours, and a claim on its bytes, which the edge serves.

Ranges and conditions are the edge's business. Source: reference page "storage", section 6.3.
"""

from datetime import datetime
from email.utils import formatdate
from urllib.parse import quote

from schemas.blobs import Claim
from schemas.http import Headers, Response
from workers.storage.asked import Asked
from workers.storage.objects import ObjectRow, kept, reading_headers

_UNESCAPED = "-_.!~*'()"
"""What `encodeURIComponent` leaves, besides letters and digits."""


def served(asked: Asked, row: ObjectRow, expires_at: float | None = None) -> Response:
    """Give an object. What was opened by a token is kept until that expires, and no longer. Raises: StorageError."""
    headers = [*reading_headers(row), *caching(asked, row, expires_at), *disposition(asked)]
    claim = Claim(row.blob, row.size, row.etag, seconds(row.modified))
    return Response(200, headers, claim=claim)


def caching(asked: Asked, row: ObjectRow, expires_at: float | None) -> Headers:
    """Give what caches may do. Raises: StorageError."""
    if expires_at is not None:
        return [("expires", formatdate(min(expires_at, 253402300799), usegmt=True))]
    return [("cache-control", kept(row, asked.header("if-none-match")))]


def disposition(asked: Asked) -> Headers:
    """Give `Content-Disposition` where `download` is asked for: under a name, if it has one."""
    name = asked.query.get("download")
    if name is None:
        return []
    if not name:
        return [("content-disposition", "attachment;")]
    escaped = quote(name, safe=_UNESCAPED)
    return [("content-disposition", f"attachment; filename={escaped}; filename*=UTF-8''{escaped}")]


def seconds(moment: datetime) -> int:
    """Give a time as whole seconds since 1970."""
    return max(0, int(moment.timestamp()))
