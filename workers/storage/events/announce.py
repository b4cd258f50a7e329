"""Announce which objects a request may have changed, so that edges ask again for what they reuse (`ObjectsChanged`). Pure.

Some operations change objects that only their body names; they announce the bucket, or every bucket. An announcement too
many costs an edge one more request to the pool. A new object under a new name needs none: no edge reuses that nothing is there.
"""

import unicodedata
from collections.abc import Mapping

from schemas.http import Request, Response, header
from schemas.storage_events import ObjectsChanged

_READS = frozenset({"GET", "HEAD"})
_WITHOUT_CHANGES = frozenset({
    "storage.object.sign", "storage.object.sign_many", "storage.object.sign_upload_url", "storage.object.list",
    "storage.object.list_v2", "storage.bucket.create", "storage.s3.key.create", "storage.s3.key.delete",
})  # fmt: skip
_SIGNED = "storage.object.upload_signed"
_OF_ONE_OBJECT = frozenset({
    "storage.object.upload", "storage.object.upload_update", _SIGNED, "storage.object.delete",
})  # fmt: skip
_EVERYTHING = ObjectsChanged()


def changed_objects(
    operation: str, parameters: Mapping[str, str], request: Request, response: Response | None
) -> ObjectsChanged | None:
    """Return what a request may have changed. `response` is None if it failed: it may be unknown whether it was carried out."""
    if request.method in _READS or operation in _WITHOUT_CHANGES:
        return None
    if response is not None and response.grant is not None:
        return None  # the bytes of an upload are still to come
    if operation == "storage.object.upload" and header(request.headers, "x-upsert") is None:
        return None  # it creates an object, or fails
    bucket = parameters.get("bucket", "")
    if operation == _SIGNED and "%" in bucket + parameters["key"]:
        return _EVERYTHING  # encoded twice, as some clients do: the token names the object, not the path
    if operation in _OF_ONE_OBJECT:
        return ObjectsChanged(bucket, unicodedata.normalize("NFC", parameters["key"]))  # as rows are named
    if bucket:
        return ObjectsChanged(bucket)
    # S3: the path begins with the bucket. Moves, copies and resumable uploads name objects elsewhere.
    named = parameters.get("path", "").partition("/")[0]
    return ObjectsChanged(named) if named else _EVERYTHING
