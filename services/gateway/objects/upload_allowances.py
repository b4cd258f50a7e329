"""Which callers may have the bytes of an upload stored before the pool is asked (`schemas.blobs.UploadAllowance`).

The pool sends an allowance with the grant of an upload. It is used for further uploads of the same caller to the same bucket
until its seconds are over, or one of them fails. So the bytes of a caller who has no right to upload are written nowhere:
his first upload, and every one after a rejection, is decided before its body.

Not under an allowance: a body of unknown length or longer than the allowance, and one that waits for `100 Continue`, because that
client does not want to send bytes for nothing.
"""

import os
import time
from collections.abc import Callable
from uuid import UUID

from aiohttp import hdrs, web

from schemas.blobs import UploadAllowance, UploadGrant
from schemas.bounded_cache import BoundedCache
from schemas.http import Request

_MOST = 2000
"""Allowances that are remembered: about 1 KB each."""
_LONGEST_BUCKET = 300
"""Characters of a bucket in a path, percent-encoded; a longer one is not remembered."""

AllowanceKey = tuple[str, str]
"""The caller's key and the bucket as it stands in the path."""


class UploadAllowances:
    """The allowances of one edge."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: BoundedCache[AllowanceKey, tuple[float, UploadAllowance]] = BoundedCache(_MOST)

    def now(self) -> float:
        """Return the time from which the seconds of an allowance count: that of sending the request to the pool."""
        return self._clock()

    def find(self, request: web.BaseRequest, message: Request) -> UploadAllowance | None:
        """Return the allowance for an upload, None if the pool must be asked before its body."""
        length, key = request.content_length, _key(message)
        if length is None or key is None or hdrs.EXPECT in request.headers:
            return None
        until, allowance = self._entries.get(key, (0.0, None))
        if allowance is None or self._clock() >= until:
            return None
        return allowance if length <= allowance.most else None

    def store(self, message: Request, grant: UploadGrant, sent_at: float) -> None:
        """Store the allowance of a grant, if it has one."""
        key = _key(message)
        if key is not None and grant.allowance is not None:
            self._entries.put(key, (sent_at + grant.allowance.seconds, grant.allowance))

    def forget(self, message: Request) -> None:
        """Use the allowance of an upload no more: one has failed."""
        key = _key(message)
        if key is not None:
            self._entries.pop(key)


def allowed_version(allowance: UploadAllowance, now: float) -> str:
    """Return a random version of the allowance's series.

    Its first byte is that of the second, as in `new_version` of the storage pool: versions of one second share a folder.
    """
    text = str(UUID(bytes=os.urandom(16), version=4))
    return f"{int(now) & 0xFF:02x}{allowance.series}{text[13:]}"


def _key(message: Request) -> AllowanceKey | None:
    """Return the key of an upload to `/object/<bucket>/<name>`; None for other paths."""
    area, _, rest = message.path[1:].partition("/")
    bucket, _, name = rest.partition("/")
    if area != "object" or not name or len(bucket) > _LONGEST_BUCKET:
        return None
    return message.caller_key, bucket
