"""GetObject, HeadObject and tags. The gateway sends the bytes. Source: docs/reference/storage.md, sections 6.9 and 10."""

from schemas.blobs import BlobClaim
from schemas.http import Response
from workers.storage.buckets.rows import read_rules
from workers.storage.model.errors import StorageError, StorageErrorCode
from workers.storage.model.names_and_sizes import existing_key
from workers.storage.objects.rows import ObjectRow
from workers.storage.requests.context import StorageContext
from workers.storage.s3.checksums import requested_checksums
from workers.storage.s3.part_sizes import part_count, part_span, stored_runs
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.headers import check_preconditions, object_response_headers
from workers.storage.s3.protocol.request import S3Request, part_number
from workers.storage.uploads.move_and_copy import visible_object


async def get(context: StorageContext, request: S3Request) -> Response:
    """GetObject and HeadObject: the gateway sends the whole object, a range, or 304."""
    row = await readable(context, request, request.bucket, request.key)
    check_preconditions(request, row)
    headers = object_response_headers(request, row)
    headers += requested_checksums(request, row)
    if request.method == "HEAD" and row.created_at:
        headers.append(("created-at", row.created_at))
    runs = stored_runs(row.metadata, row.size)
    part = _part(request, row, runs) if request.has("partNumber") else None
    if runs and part is not None:
        headers.append(("x-amz-mp-parts-count", str(part_count(runs))))
    modified = max(0, int(row.modified.timestamp()))
    claim = BlobClaim(row.blob, row.size, row.etag, modified, part=part if row.size else None)
    return Response(200, headers, claim=claim)


def _part(request: S3Request, row: ObjectRow, runs: list[tuple[int, int]]) -> tuple[int, int]:
    """Return first byte and end of the requested part; an object without parts is part 1. Raises: S3Error."""
    if request.header("range") is not None:
        raise S3Error("InvalidRequest", "Cannot specify both Range header and partNumber query parameter")
    number = part_number(request)
    span = part_span(runs or [(row.size, 1)], number)
    if span is None:
        message = "The object has no such part: it may not have been uploaded"
        raise S3Error("InvalidPart", message, 400, PartNumberRequested=str(number))
    return span


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
