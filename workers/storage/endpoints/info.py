"""What is known of an object, without its bytes. Source: reference page "storage", section 6.4."""

from email.utils import formatdate

import orjson

from schemas.http import Response
from workers.storage.asked import JSON, Asked
from workers.storage.context import Store
from workers.storage.endpoints import download
from workers.storage.endpoints.serving import caching, seconds
from workers.storage.objects import ObjectRow, public_object, readable_object


async def openly(store: Store, asked: Asked) -> Response:
    """`GET object/info/public/{bucket}/{path}`."""
    download.refuse_bad_transform(store, asked)
    return _told(asked, await public_object(store, asked, asked.bucket, asked.key))


async def readable(store: Store, asked: Asked) -> Response:
    """`GET object/info/{bucket}/{path}`, and the same below `object/info/authenticated`."""
    download.refuse_bad_transform(store, asked)
    return _told(asked, await readable_object(store, asked, asked.bucket, asked.key))


async def head_openly(store: Store, asked: Asked) -> Response:
    """`HEAD object/public/{bucket}/{path}`."""
    download.refuse_bad_transform(store, asked)
    return await download.openly(store, asked)


async def head_readable(store: Store, asked: Asked) -> Response:
    """`HEAD object/{bucket}/{path}`, and the same below `object/authenticated`."""
    download.refuse_bad_transform(store, asked)
    return await download.readable(store, asked)


def _told(asked: Asked, row: ObjectRow) -> Response:
    told = {
        "id": row.id,
        "name": row.name,
        "version": row.version,
        "bucket_id": row.bucket_id,
        "size": row.size,
        "content_type": row.mime_type,
        "cache_control": row.cache_control,
        "etag": row.etag,
        "metadata": orjson.Fragment(bytes(row.user_metadata)),
        "last_modified": row.updated_at,
        "created_at": row.created_at,
    }
    modified = formatdate(seconds(row.modified), usegmt=True)
    headers = [("etag", row.etag), ("last-modified", modified), *caching(asked, row, None)]
    return Response(200, [JSON, *headers], orjson.dumps(told))
