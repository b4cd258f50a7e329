"""Reading objects: get, look at, tags. The edge sends the bytes. Source: reference page "storage", sections 6.9 and 10."""

from schemas.blobs import Claim
from schemas.http import Response
from workers.storage.buckets import rules_of
from workers.storage.context import Store
from workers.storage.errors import Code, StorageError
from workers.storage.moving import visible_object
from workers.storage.objects import ObjectRow
from workers.storage.rules import existing_key
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.headers import refuse_unless_fit, shown


async def get(store: Store, asking: Asking) -> Response:
    """GetObject and HeadObject: the edge sends the bytes, or a range, or says that nothing has changed."""
    row = await readable(store, asking, asking.bucket, asking.key)
    refuse_unless_fit(asking, row)
    headers = shown(asking, row)
    if asking.method == "HEAD" and row.created_at:
        headers.append(("created-at", row.created_at))
    claim = Claim(row.blob, row.size, row.etag, max(0, int(row.modified.timestamp())))
    return Response(200, headers, claim=claim)


async def readable(store: Store, asking: Asking, bucket: str, key: str) -> ObjectRow:
    """Give an object that the caller's policies show. Raises: StorageError (404), of the bucket where that is not there."""
    try:
        return await visible_object(store, asking.asked, bucket, existing_key(key))
    except StorageError as error:
        if error.code is Code.NO_SUCH_KEY:
            await rules_of(store, asking.asked, bucket)
        raise


async def tags(store: Store, asking: Asking) -> Response:
    """GetObjectTagging: there are none."""
    await readable(store, asking, asking.bucket, asking.key)
    return xml.answer("Tagging", [("TagSet", [])])
