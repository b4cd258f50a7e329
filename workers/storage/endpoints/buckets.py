"""Endpoints of buckets: list, read, create, change, delete, empty, measure.

Source: docs/reference/storage.md, section 5.
"""

import re

import msgspec
import orjson

from schemas.http import Response
from schemas.numbers import clamp_whole_number
from workers.storage.buckets import rows
from workers.storage.buckets.rows import BucketChange, NewBucket
from workers.storage.model.errors import feature_not_enabled, invalid_request
from workers.storage.model.media_types import parse_allowed
from workers.storage.model.names_and_sizes import (
    check_bucket_name,
    check_bucket_type,
    check_versioning,
    parse_size_limit,
)
from workers.storage.requests.body_reader import BodyReader
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import (
    StorageRequest,
    json_response,
    message_response,
    raw_json_response,
)
from workers.storage.uploads.write_conditions import check_untagged_resource

_COLUMNS = ("id", "name", "created_at", "updated_at")
_KINDS = ("STANDARD", "ANALYTICS", "VECTOR")
_VERSIONING = ("DISABLED", "ENABLED", "SUSPENDED")
_CHANGES = ("public", "file_size_limit", "allowed_mime_types")
_MOST_QUOTA = 2**63 - 1
_MOST_LISTED = 100_000_000
_MOST_VERSION = 10**6
_OLD_PYTHON = re.compile(r"(supabase-py(?:thon)?/|storage3/)v?([0-9]+)\.([0-9]+)\.([0-9]+)")
_KNOWS_TYPE = {"supabase-py/": (2, 18, 0), "supabase-python/": (2, 18, 0), "storage3/": (0, 12, 1)}


async def listing(context: StorageContext, request: StorageRequest) -> Response:
    """`GET bucket`."""
    read = request.read_query()
    most = read.integer("limit", 0, least=1, most=_MOST_LISTED)
    skipped = read.integer("offset", 0, least=0, most=_MOST_LISTED)
    column = read.choice("sortColumn", _COLUMNS, "name")
    order = read.choice("sortOrder", ("asc", "desc"), "asc")
    search = read.text("search")
    read.check()
    buckets = await rows.list_buckets(
        context,
        request,
        most=most,
        skipped=skipped,
        column=column,
        is_descending=order == "desc",
        search=search,
    )
    return raw_json_response(buckets if _knows_type(request) else _without_type(buckets))


async def show(context: StorageContext, request: StorageRequest) -> Response:
    """`GET bucket/{id}`."""
    return raw_json_response(await rows.read_bucket(context, request, request.bucket))


async def create(context: StorageContext, request: StorageRequest) -> Response:
    """`POST bucket`."""
    read = request.read()
    name, id = read.text("name", needed=True), read.text("id")
    public, kind = read.flag("public"), read.choice("type", _KINDS, "STANDARD")
    types, versioning = _mime_types(read), _versioning(read)
    read.check()
    quota = _quota(request, read)
    check_bucket_type(kind)
    check_versioning(versioning)
    check_bucket_name(name)
    check_bucket_name(id or name)
    size = parse_size_limit(read.raw("file_size_limit"), context.settings.largest)
    new = NewBucket(id or name, name, public, size, parse_allowed(types), quota)
    await rows.create(context, request, new)
    return json_response({"name": name})


async def update(context: StorageContext, request: StorageRequest) -> Response:
    """`PUT bucket/{id}`."""
    check_untagged_resource(request.http.headers)
    read = request.read()
    public, types, versioning = read.flag("public"), _mime_types(read), _versioning(read)
    read.check()
    check_versioning(versioning)
    quota = _quota(request, read)
    if not any(read.has(name) for name in (*_CHANGES, "quota")):
        missing = [f"body must have required property '{name}'" for name in _CHANGES]
        raise invalid_request(", ".join([*missing, "body must match a schema in anyOf"]))
    size = parse_size_limit(read.raw("file_size_limit"), context.settings.largest)
    change = BucketChange(
        public if read.raw("public") is not None else msgspec.UNSET,
        size if read.has("file_size_limit") else msgspec.UNSET,
        parse_allowed(types) if read.has("allowed_mime_types") else msgspec.UNSET,
        quota if read.has("quota") else msgspec.UNSET,
    )
    await rows.change(context, request, request.bucket, change)
    return message_response("Successfully updated")


async def delete(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE bucket/{id}`."""
    check_untagged_resource(request.http.headers)
    request.read_nothing()
    await rows.delete(context, request, request.bucket)
    return message_response("Successfully deleted")


async def empty(context: StorageContext, request: StorageRequest) -> Response:
    """`POST bucket/{id}/empty`: only the service role may call it."""
    request.require_service_role()
    check_untagged_resource(request.http.headers)
    request.read_nothing()
    await rows.empty(context, request, request.bucket)
    return message_response("Empty bucket has been queued. Completion may take up to an hour.")


async def lifecycle(context: StorageContext, request: StorageRequest) -> Response:
    """`bucket/{id}/lifecycle`: rules for earlier versions of objects, of which the platform keeps none.

    Raises: StorageError: 404 without the bucket, otherwise 409 `FeatureNotEnabled`, which the clients document.
    """
    await rows.read_bucket(context, request, request.bucket)
    raise feature_not_enabled("lifecycle")


async def size(context: StorageContext, request: StorageRequest) -> Response:
    """`GET bucket/{id}/size`: bytes and number of the objects that the caller may see, and the quota
    (docs/storage-additions.md).
    """
    return raw_json_response(await rows.size(context, request, request.bucket))


def _mime_types(read: BodyReader) -> list[str] | None:
    patterns = read.texts("allowed_mime_types")
    return None if read.raw("allowed_mime_types") is None else patterns


def _quota(request: StorageRequest, read: BodyReader) -> int | None:
    """Read the quota of a bucket in bytes, written like a size limit. Only the service role may set it.

    Raises: StorageError.
    """
    if read.has("quota"):
        request.require_service_role()
    return parse_size_limit(read.raw("quota"), _MOST_QUOTA, name="quota")


def _versioning(read: BodyReader) -> str:
    return read.choice("versioning_status", _VERSIONING, "DISABLED")


def _knows_type(request: StorageRequest) -> bool:
    """Return whether the client accepts the member `type` in a bucket: older Python clients reject unknown members."""
    for name in ("x-client-info", "user-agent"):
        match = _OLD_PYTHON.search((request.header(name) or "").lower())
        if match:
            version = tuple(clamp_whole_number(part, most=_MOST_VERSION) or 0 for part in match.groups()[1:4])
            return version >= _KNOWS_TYPE[match[1]]
    return True


def _without_type(buckets: bytes) -> bytes:
    return orjson.dumps(
        [
            {name: value for name, value in bucket.items() if name != "type"}
            for bucket in orjson.loads(buckets)
        ]
    )
