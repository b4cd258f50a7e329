"""PutObject. Bytes travel by claim check as in all of storage.

Source: docs/reference/storage.md, sections 6.9 and 10.
"""

from dataclasses import replace

from schemas.http import Response
from workers.storage.requests.context import StorageContext
from workers.storage.s3.body_checks import check_stored, grant_body
from workers.storage.s3.checksums import checksum_headers, verified_checksums
from workers.storage.s3.conditions import condition_of_write
from workers.storage.s3.protocol.headers import attributes_of, check_content_md5, length_of
from workers.storage.s3.protocol.request import S3Request
from workers.storage.uploads.commit import commit, grant
from workers.storage.uploads.model import Upload


async def put(context: StorageContext, request: S3Request) -> Response:
    """PutObject, called before and after the bytes are stored."""
    stored = request.storage_request.http.stored
    upload = upload_of(request)
    if stored is None:
        return grant_body(request, await grant(context, request.storage_request, upload))
    check_stored(stored)
    check_content_md5(request, stored.md5)
    checksums = verified_checksums(stored)
    upload = replace(upload, attributes=replace(upload.attributes, checksums=checksums))
    await commit(context, request.storage_request, upload, stored)
    return Response(200, [("etag", f'"{stored.md5}"'), *checksum_headers(checksums)])


def upload_of(request: S3Request) -> Upload:
    """Return the upload that a request describes. Raises: S3Error, StorageError."""
    who = request.storage_request.caller
    condition = condition_of_write(request)
    return Upload(
        request.bucket,
        request.key,
        who,
        who.subject,
        condition is None or not condition.requires_absence,
        attributes_of(request),
        length_of(request),
        is_standard=False,
        condition=condition,
    )
