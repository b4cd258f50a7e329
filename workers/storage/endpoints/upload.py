"""Upload endpoints: `POST` creates an object, or replaces one with `x-upsert: true`; `PUT` does either.

The gateway sends the request twice: first without a stored body, and the answer says where to write the bytes; then with
the size and the hash of the bytes that it stored. A small body is part of the first request, which is the only one where
the pool stores the bytes itself (`uploads/small.py`). Under an allowance the gateway stores the bytes first and sends the
request once (`uploads/allowances.py`). A false condition (`If-Match`,
`If-None-Match`, `If-Unmodified-Since`) is 412 both times, and the row stays as it was.
Source: docs/reference/storage.md, sections 6.1 and 6.11.
"""

from schemas.http import Response
from workers.storage.model.signed_urls import SignedUrlScope, split_url
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import SERVICE
from workers.storage.requests.storage_request import StorageRequest, json_response
from workers.storage.uploads.allowances import commit_allowed, with_allowance
from workers.storage.uploads.commit import commit, grant
from workers.storage.uploads.model import Upload
from workers.storage.uploads.small import store_small
from workers.storage.uploads.upload_headers import attributes_of, declared_length, is_form
from workers.storage.uploads.write_conditions import read_write_condition, requires_absence


async def create(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/{bucket}/{path}`."""
    return await _upload(context, request, _of_caller(request, is_upsert=request.is_true("x-upsert")))


async def replace(context: StorageContext, request: StorageRequest) -> Response:
    """`PUT object/{bucket}/{path}`."""
    return await _upload(context, request, _of_caller(request, is_upsert=True))


async def signed(context: StorageContext, request: StorageRequest) -> Response:
    """`PUT object/upload/sign/{bucket}/{path}?token=`: write with the token's rights on behalf of its owner."""
    read = request.read_query()
    token = read.text("token", needed=True)
    read.check()
    claims = context.signer.read(token, SignedUrlScope.UPLOAD, f"{request.bucket}/{request.key}")
    bucket, key = split_url(claims.url)
    condition = read_write_condition(request.http.headers)
    upload = Upload(
        bucket,
        key,
        SERVICE,
        claims.owner,
        bool(claims.upsert) and not requires_absence(condition),
        attributes_of(request),
        declared_length(request),
        is_form(request),
        condition=condition,
    )
    row = await _write(context, request, upload)
    return row if isinstance(row, Response) else json_response({"Key": row["Key"]})


async def _upload(context: StorageContext, request: StorageRequest, upload: Upload) -> Response:
    row = await _write(context, request, upload)
    if isinstance(row, Response):
        return with_allowance(context, upload, row)
    return json_response({"Key": row["Key"], "Id": row["Id"]})


async def _write(
    context: StorageContext, request: StorageRequest, upload: Upload
) -> dict[str, object] | Response:
    """Take the step of the upload that the gateway asks for: return the written row, or the response with a grant."""
    http = request.http
    if http.stored is not None and http.stored.version:
        row = await commit_allowed(context, request, upload, http.stored)
        return row or await grant(context, request, upload)
    if http.stored is not None:
        return await commit(context, request, upload, http.stored)
    if http.object_bytes is not None:
        row = await store_small(context, request, upload, http.object_bytes)
        if row is not None:
            return row
    return await grant(context, request, upload)


def _of_caller(request: StorageRequest, *, is_upsert: bool) -> Upload:
    condition = read_write_condition(request.http.headers)
    return Upload(
        request.bucket,
        request.key,
        request.caller,
        request.caller.subject,
        is_upsert and not requires_absence(condition),
        attributes_of(request),
        declared_length(request),
        is_form(request),
        condition=condition,
    )
