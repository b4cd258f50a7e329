"""The S3-compatible endpoint: one handler for all operations. A signature authenticates the client; errors are XML.

    path and query -> verified signature -> operation -> response

Source: docs/reference/storage.md, section 10.
"""

import hashlib
import hmac
from dataclasses import replace

import msgspec

from broker.blobs.errors import BlobStoreDown
from broker.observability.observe import observe
from schemas.errors import ApiError
from schemas.http import Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.errors import StorageError, feature_not_enabled
from workers.storage.model.names_and_sizes import MOST_KEY_BYTES
from workers.storage.model.observations import database_refused
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.s3.bucket_claims import check_bucket_claims
from workers.storage.s3.credentials import authenticated, authenticated_form
from workers.storage.s3.forms import FIELDS, fields_of
from workers.storage.s3.operations import FORM, operation_of
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, s3_error_of
from workers.storage.s3.protocol.headers import check_content_md5
from workers.storage.s3.protocol.request import S3Request, read_s3_request
from workers.storage.s3.protocol.request_headers import check_request_headers


async def answer(context: StorageContext, request: StorageRequest) -> Response:
    """Handle one request to `/s3`; every error is XML with its real HTTP status."""
    try:
        return await _answer(context, request)
    except S3Error as error:
        refused = error
    except StorageError as error:
        refused = s3_error_of(error)
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        storage_error = storage_error_of(error)
        if isinstance(error, DatabaseError) and storage_error.inner >= 500:
            observe(database_refused(error, request.http.id))
        refused = s3_error_of(storage_error)
    except BlobStoreDown:
        refused = S3Error("ServiceUnavailable", "The blob store does not answer", 503)
    except ApiError as error:
        refused = S3Error("InvalidRequest", str(error), error.status)
    resource = request.http.path.removeprefix("/s3").removeprefix("/")
    return xml.error_response(refused, resource, request.http.id)


async def _answer(context: StorageContext, request: StorageRequest) -> Response:
    if not context.settings.s3_protocol.enabled:
        raise feature_not_enabled("s3 protocol")
    s3_request = read_s3_request(request)
    fields = fields_of(s3_request)
    if fields is not None:
        s3_request = await authenticated_form(context, context.keyring, s3_request, fields)
        operation = FORM
    else:
        s3_request = await authenticated(context, context.keyring, s3_request)
        operation = operation_of(s3_request)
    if not operation.has_bytes:
        _check_body_hash(s3_request)
    if len(s3_request.key.encode()) > MOST_KEY_BYTES:
        raise S3Error("KeyTooLongError", f"Your key is too long: at most {MOST_KEY_BYTES} bytes of UTF-8")
    check_request_headers(s3_request)
    await check_bucket_claims(context, s3_request, writes_object=operation.writes_object)
    return await operation.answer(context, _with_operation(s3_request, operation.name))


def _with_operation(request: S3Request, operation: str) -> S3Request:
    """Return the request with the operation name that policies see, and without the form fields in its headers."""
    http = request.storage_request.http
    public = msgspec.structs.replace(http, headers=[pair for pair in http.headers if pair[0] != FIELDS])
    return replace(
        request, storage_request=replace(request.storage_request, http=public, operation=operation)
    )


def _check_body_hash(request: S3Request) -> None:
    """Raises: S3Error if the body is not the signed one. The gateway checks the bytes of objects itself."""
    body = request.storage_request.body
    if "content-md5" in request.headers:
        check_content_md5(request, hashlib.md5(body, usedforsecurity=False).hexdigest())
    if len(request.payload) != 64:
        return
    digest = hashlib.sha256(body).hexdigest()
    if not hmac.compare_digest(digest, request.payload.lower()):
        message = "The provided 'x-amz-content-sha256' header does not match what was computed."
        raise S3Error("XAmzContentSHA256Mismatch", message)
