"""The table of S3 operations: method, bucket, key and query parameters -> handler.

Source: docs/reference/storage.md, sections 10 and 12.4.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from schemas.http import Response
from workers.storage.requests.context import StorageContext
from workers.storage.s3 import buckets, copy_object, delete, forms, get_object, listing, objects, subresources
from workers.storage.s3.multipart import completion, parts, uploads
from workers.storage.s3.protocol.errors import not_supported
from workers.storage.s3.protocol.request import S3Request

S3Handler = Callable[[StorageContext, S3Request], Awaitable[Response]]

_UNSUPPORTED = frozenset({
    "accelerate", "acl", "analytics", "attributes", "cors", "encryption", "intelligent-tiering", "inventory",
    "legal-hold", "lifecycle", "logging", "metadataConfiguration", "metadataTable", "metrics", "notification",
    "object-lock", "ownershipControls", "policy", "policyStatus", "publicAccessBlock", "replication", "requestPayment",
    "restore", "retention", "select", "tagging", "torrent", "versionId", "website", "append", "renameObject",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class S3Operation:
    """A handler, and the operation name that policies see."""

    answer: S3Handler
    name: str
    has_bytes: bool = False
    """The body holds bytes of an object, so the gateway stores it and the pool does not receive it."""
    writes_object: bool = False
    """It writes an object, or starts to: its headers may describe the object's access."""


_LIST = S3Operation(listing.first_version, "storage.s3.object.list")
_UPLOAD = "storage.s3.upload"

_BUCKETS: dict[tuple[str, str], S3Operation] = {
    ("GET", ""): _LIST,
    ("GET", "list-type"): S3Operation(listing.second_version, _LIST.name),
    ("GET", "versions"): S3Operation(listing.versions, _LIST.name),
    ("GET", "uploads"): S3Operation(uploads.list_uploads, f"{_UPLOAD}.list_multipart"),
    ("GET", "location"): S3Operation(buckets.location, "storage.s3.bucket.get_location"),
    ("GET", "versioning"): S3Operation(buckets.versioning, "storage.s3.bucket.get_versioning"),
    ("HEAD", ""): S3Operation(buckets.head, "storage.s3.bucket.head"),
    ("PUT", ""): S3Operation(buckets.create, "storage.s3.bucket.create"),
    ("DELETE", ""): S3Operation(buckets.delete, "storage.s3.bucket.delete"),
    ("POST", "delete"): S3Operation(delete.delete_many, "storage.s3.object.delete_many"),
}
_BUCKETS |= {
    ("GET", name): S3Operation(handler, "storage.s3.bucket.get_configuration")
    for name, handler in subresources.bucket_reads().items()
}
_BUCKETS |= {
    ("DELETE", name): S3Operation(subresources.delete_of_bucket, "storage.s3.bucket.delete_configuration")
    for name in subresources.DELETABLE
}
_OBJECTS: dict[tuple[str, str], S3Operation] = {
    ("GET", ""): S3Operation(get_object.get, "storage.s3.object.get"),
    ("GET", "tagging"): S3Operation(get_object.tags, "storage.s3.object.get_tagging"),
    ("GET", "acl"): S3Operation(subresources.object_acl, "storage.s3.object.get_acl"),
    ("GET", "legal-hold"): S3Operation(subresources.object_lock, "storage.s3.object.get_lock"),
    ("GET", "retention"): S3Operation(subresources.object_lock, "storage.s3.object.get_lock"),
    ("DELETE", "tagging"): S3Operation(subresources.delete_tags, "storage.s3.object.delete_tagging"),
    ("GET", "uploadId"): S3Operation(uploads.list_parts, f"{_UPLOAD}.list_parts"),
    ("HEAD", ""): S3Operation(get_object.get, "storage.s3.object.info"),
    ("PUT", ""): S3Operation(objects.put, _UPLOAD, has_bytes=True, writes_object=True),
    ("PUT", "copy"): S3Operation(
        copy_object.copy, "storage.s3.object.copy", has_bytes=True, writes_object=True
    ),
    ("PUT", "uploadId"): S3Operation(parts.put, f"{_UPLOAD}.part", has_bytes=True),
    ("PUT", "uploadId copy"): S3Operation(parts.copy, f"{_UPLOAD}.part_copy", has_bytes=True),
    ("POST", "uploads"): S3Operation(
        uploads.create_upload, f"{_UPLOAD}.create_multipart", writes_object=True
    ),
    ("POST", "uploadId"): S3Operation(completion.complete, f"{_UPLOAD}.complete_multipart"),
    ("DELETE", ""): S3Operation(delete.delete, "storage.s3.object.delete"),
    ("DELETE", "uploadId"): S3Operation(uploads.abort, f"{_UPLOAD}.abort_multipart"),
}
FORM = S3Operation(forms.post, _UPLOAD, has_bytes=True, writes_object=True)
"""The operation that no method and query selects: an upload by a form."""
_ALL_BUCKETS = S3Operation(buckets.listing, "storage.s3.bucket.list")


def operation_of(request: S3Request) -> S3Operation:
    """Return the operation of a request. Raises: S3Error (404) for an operation that is not implemented."""
    method = request.method
    if not request.bucket:
        operation = _ALL_BUCKETS if method == "GET" and not request.key else None
    elif not request.key:
        operation = _BUCKETS.get((method, _named(request, _BUCKETS)))
    else:
        operation = _OBJECTS.get((method, _named(request, _OBJECTS) + _copies(request)))
    if operation is None:
        raise not_supported()
    return operation


def _named(request: S3Request, table: dict[tuple[str, str], S3Operation]) -> str:
    """Return the query parameter that selects the operation; an unknown one is returned as it is."""
    for name in request.parameters:
        if name == "versionId" and request.parameter(name) == "null":
            continue  # the only version of an object without versioning
        is_known = (request.method, name) in table
        if is_known or name in _UNSUPPORTED:
            return name
    return ""


def _copies(request: S3Request) -> str:
    if request.method != "PUT" or request.header(copy_object.SOURCE) is None:
        return ""
    return " copy" if request.has("uploadId") else "copy"
