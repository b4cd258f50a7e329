"""Purging: what was made of objects is made anew when it is asked for. For the service role.

It succeeds for objects that are not there. Source: reference page "storage", section 7.
"""

from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
from msgspec import Struct

from broker.blobs.blob_names import transforms
from schemas.http import Response
from workers.database.interactive import statement
from workers.storage.asked import Asked, answer
from workers.storage.context import Store
from workers.storage.objects import SQL
from workers.storage.rules import existing_key

_BATCH = 1000


class _Version(Struct, frozen=True):
    id: str
    version: str


async def one(store: Store, asked: Asked) -> Response:
    """`DELETE cdn/{bucket}/{path}`."""
    return await _purge(store, asked, asked.bucket, existing_key(asked.key))


async def bucket(store: Store, asked: Asked) -> Response:
    """`DELETE cdn/{bucket}`."""
    return await _purge(store, asked, asked.bucket)


async def everything(store: Store, asked: Asked) -> Response:
    """`DELETE cdn`."""
    return await _purge(store, asked)


async def _purge(store: Store, asked: Asked, bucket: str = "", key: str = "") -> Response:
    asked.refuse_unless_service()
    async for version in _versions(store, asked, bucket, key):
        with suppress(ValueError):  # a row written by hand, whose version is none
            await store.blobs.delete_folder(transforms(version))
    return answer({"message": "success", "statusCode": "200"})


async def _versions(store: Store, asked: Asked, bucket: str, key: str) -> AsyncIterator[str]:
    after = ""
    while True:
        page = statement(SQL["versions"], bucket, key, after, _BATCH)
        [rows] = await store.run(asked.as_service(), page)
        found = [msgspec.json.decode(row[0] or b"{}", type=_Version) for row in rows]
        for each in found:
            yield each.version
        if len(found) < _BATCH:
            return
        after = found[-1].id
