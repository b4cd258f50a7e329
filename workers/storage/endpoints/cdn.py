"""Purge endpoints: delete cached renditions, which are rendered again on the next request, and purge the cache in front of the
platform if the settings name a service for that. Only for the service role.

`?transformations=true` leaves the originals in that cache. A purge of a missing object succeeds. Source: docs/reference/storage.md, section 7.
"""

from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import transforms
from schemas.http import Response
from workers.database.transactions.interactive import statement
from workers.storage.model.names_and_sizes import existing_key
from workers.storage.objects.rows import SQL
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest, json_response

_BATCH = 1000


class _Version(Struct, frozen=True):
    id: str
    version: str


async def one(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE cdn/{bucket}/{path}`."""
    return await _purge(context, request, request.bucket, existing_key(request.key))


async def bucket(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE cdn/{bucket}`."""
    return await _purge(context, request, request.bucket)


async def everything(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE cdn`."""
    return await _purge(context, request)


async def _purge(
    context: StorageContext, request: StorageRequest, bucket: str = "", key: str = ""
) -> Response:
    request.require_service_role()
    async for version in _versions(context, request, bucket, key):
        with suppress(ValueError):  # a row that was written by hand; its version is not a UUID
            await context.blobs.delete_folder(transforms(version))
    if context.outside_cache is not None:
        only_renditions = request.query.get("transformations") == "true"
        await context.outside_cache.purge(context.settings, bucket, key, only_renditions=only_renditions)
    return json_response({"message": "success", "statusCode": "200"})


async def _versions(
    context: StorageContext, request: StorageRequest, bucket: str, key: str
) -> AsyncIterator[str]:
    after = ""
    while True:
        page = statement(SQL["versions"], bucket, key, after, _BATCH)
        [rows] = await context.run(request.as_service(), page)
        versions = [msgspec.json.decode(row[0] or b"{}", type=_Version) for row in rows]
        for version in versions:
            yield version.version
        if len(versions) < _BATCH:
            return
        after = versions[-1].id
