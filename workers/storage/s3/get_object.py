"""GetObject, HeadObject and tags. The gateway sends the bytes. Source: docs/reference/storage.md, sections 6.9 and 10."""

from schemas.blobs import BlobClaim
from schemas.http import Response
from workers.storage.buckets.rows import read_rules
from workers.storage.model.errors import StorageError, StorageErrorCode
from workers.storage.model.names_and_sizes import existing_key
from workers.storage.objects.rows import ObjectRow
from workers.storage.requests.context import StorageContext
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.headers import check_preconditions, object_response_headers
from workers.storage.s3.protocol.request import S3Request
from workers.storage.uploads.move_and_copy import visible_object


async def get(context: StorageContext, request: S3Request) -> Response:
    """GetObject and HeadObject: the gateway sends the whole object, a range, or 304."""
    row = await readable(context, request, request.bucket, request.key)
    check_preconditions(request, row)
    headers = object_response_headers(request, row)
    if request.method == "HEAD" and row.created_at:
        headers.append(("created-at", row.created_at))
    claim = BlobClaim(row.blob, row.size, row.etag, max(0, int(row.modified.timestamp())))
    return Response(200, headers, claim=claim)


async def readable(context: StorageContext, request: S3Request, bucket: str, key: str) -> ObjectRow:
    """Return an object that the caller's policies allow. Raises: StorageError (404), of the bucket if that is missing."""
    try:
        return await visible_object(context, request.storage_request, bucket, existing_key(key))
    except StorageError as error:
        if error.code is StorageErrorCode.NO_SUCH_KEY:
            await read_rules(context, request.storage_request, bucket)
        raise


async def tags(context: StorageContext, request: S3Request) -> Response:
    """GetObjectTagging: always empty."""
    await readable(context, request, request.bucket, request.key)
    return xml.xml_response("Tagging", [("TagSet", [])])
