"""Which operation a request asks for: method, bucket, key, and what its query names. A table, and no more.

Source: reference page "storage", sections 10 and 12.4.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from schemas.http import Response
from workers.storage.context import Store
from workers.storage.s3 import (
    buckets,
    completing,
    copying,
    forms,
    listing,
    multipart,
    objects,
    parts,
    reading,
)
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import not_supported

Answer = Callable[[Store, Asking], Awaitable[Response]]

_UNSUPPORTED = frozenset({
    "accelerate", "acl", "analytics", "attributes", "cors", "encryption", "intelligent-tiering", "inventory",
    "legal-hold", "lifecycle", "logging", "metadataConfiguration", "metadataTable", "metrics", "notification",
    "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication", "requestPayment",
    "restore", "retention", "select", "tagging", "torrent", "versionId", "versions", "website", "append", "renameObject",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """What answers, and the name that policies know it by."""

    answer: Answer
    name: str
    has_bytes: bool = False
    """The body, if there is one, does not come to the pool."""


_LIST = Operation(listing.first_version, "storage.s3.object.list")
_UPLOAD = "storage.s3.upload"

_BUCKETS: dict[tuple[str, str], Operation] = {
    ("GET", ""): _LIST,
    ("GET", "list-type"): Operation(listing.second_version, _LIST.name),
    ("GET", "uploads"): Operation(multipart.list_uploads, f"{_UPLOAD}.list_multipart"),
    ("GET", "location"): Operation(buckets.location, "storage.s3.bucket.get_location"),
    ("GET", "versioning"): Operation(buckets.versioning, "storage.s3.bucket.get_versioning"),
    ("HEAD", ""): Operation(buckets.head, "storage.s3.bucket.head"),
    ("PUT", ""): Operation(buckets.create, "storage.s3.bucket.create"),
    ("DELETE", ""): Operation(buckets.delete, "storage.s3.bucket.delete"),
    ("POST", "delete"): Operation(objects.delete_many, "storage.s3.object.delete_many"),
}
_OBJECTS: dict[tuple[str, str], Operation] = {
    ("GET", ""): Operation(reading.get, "storage.s3.object.get"),
    ("GET", "tagging"): Operation(reading.tags, "storage.s3.object.get_tagging"),
    ("GET", "uploadId"): Operation(multipart.list_parts, f"{_UPLOAD}.list_parts"),
    ("HEAD", ""): Operation(reading.get, "storage.s3.object.info"),
    ("PUT", ""): Operation(objects.put, _UPLOAD, has_bytes=True),
    ("PUT", "copy"): Operation(copying.copy, "storage.s3.object.copy", has_bytes=True),
    ("PUT", "uploadId"): Operation(parts.put, f"{_UPLOAD}.part", has_bytes=True),
    ("PUT", "uploadId copy"): Operation(parts.copy, f"{_UPLOAD}.part_copy", has_bytes=True),
    ("POST", "uploads"): Operation(multipart.begin, f"{_UPLOAD}.create_multipart"),
    ("POST", "uploadId"): Operation(completing.complete, f"{_UPLOAD}.complete_multipart"),
    ("DELETE", ""): Operation(objects.delete, "storage.s3.object.delete"),
    ("DELETE", "uploadId"): Operation(multipart.abort, f"{_UPLOAD}.abort_multipart"),
}
FORM = Operation(forms.post, _UPLOAD, has_bytes=True)
"""What no method and query names: an upload by a form."""
_ALL_BUCKETS = Operation(buckets.listing, "storage.s3.bucket.list")


def operation_of(asking: Asking) -> Operation:
    """Find the operation. Raises: S3Error (404) for what S3 has and this endpoint has not."""
    method = asking.method
    if not asking.bucket:
        found = _ALL_BUCKETS if method == "GET" and not asking.key else None
    elif not asking.key:
        found = _BUCKETS.get((method, _named(asking, _BUCKETS)))
    else:
        found = _OBJECTS.get((method, _named(asking, _OBJECTS) + _copies(asking)))
    if found is None:
        raise not_supported()
    return found


def _named(asking: Asking, table: dict[tuple[str, str], Operation]) -> str:
    """Give what the query names that decides; of what is not known here, its own name."""
    for name in asking.parameters:
        is_known = (asking.method, name) in table
        if is_known or name in _UNSUPPORTED:
            return name
    return ""


def _copies(asking: Asking) -> str:
    if asking.method != "PUT" or asking.header(copying.SOURCE) is None:
        return ""
    return " copy" if asking.has("uploadId") else "copy"
