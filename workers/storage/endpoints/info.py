"""Metadata of an object without its bytes. Source: docs/reference/storage.md, section 6.4."""

from email.utils import formatdate

import orjson

from schemas.http import Response
from workers.storage.endpoints import download
from workers.storage.endpoints.object_response import caching, epoch_seconds
from workers.storage.objects.rows import ObjectRow, public_object, readable_object
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import JSON, StorageRequest
from workers.storage.uploads.write_conditions import check_read_conditions, is_unchanged


async def public(context: StorageContext, request: StorageRequest) -> Response:
    """`GET|HEAD object/info/public/{bucket}/{path}`."""
    download.check_transform(context, request)
    return _metadata_response(request, await public_object(context, request, request.bucket, request.key))


async def authenticated(context: StorageContext, request: StorageRequest) -> Response:
    """`GET|HEAD object/info/{bucket}/{path}`, and the same below `object/info/authenticated`."""
    download.check_transform(context, request)
    return _metadata_response(request, await readable_object(context, request, request.bucket, request.key))


async def head_public(context: StorageContext, request: StorageRequest) -> Response:
    """`HEAD object/public/{bucket}/{path}`."""
    download.check_transform(context, request)
    return await download.public(context, request)


async def head_authenticated(context: StorageContext, request: StorageRequest) -> Response:
    """`HEAD object/{bucket}/{path}`, and the same below `object/authenticated`."""
    download.check_transform(context, request)
    return await download.authenticated(context, request)


def _metadata_response(request: StorageRequest, row: ObjectRow) -> Response:
    check_read_conditions(request.http.headers, row.etag, row.modified)
    metadata = bytes(row.user_metadata)
    fields = {
        "id": row.id,
        "name": row.name,
        "version": row.version,
        "bucket_id": row.bucket_id,
        "size": row.size,
        "content_type": row.mime_type,
        "cache_control": row.cache_control,
        "etag": row.etag,
        "metadata": orjson.Fragment(metadata if metadata != b"null" else b"{}"),
        "last_modified": row.updated_at,
        "created_at": row.created_at,
    }
    modified = formatdate(epoch_seconds(row.modified), usegmt=True)
    headers = [("etag", row.etag), ("last-modified", modified), *caching(request, row, None)]
    if is_unchanged(request.http.headers, row.etag, row.modified):
        return Response(304, headers)
    return Response(200, [JSON, *headers], orjson.dumps(fields))
