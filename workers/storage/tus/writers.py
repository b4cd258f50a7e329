"""The rights with which a resumable upload is written.

An authenticated caller writes with its own rights. A client with the token of a signed upload writes with the rights of
the service role on behalf of the token's owner. The upload belongs to its creator: at every step the policies are
checked with that owner, whatever client sends the request.
"""

from dataclasses import dataclass

from workers.storage.model.content_headers import content_headers_of_fields
from workers.storage.model.errors import invalid_signature
from workers.storage.model.media_types import stored_media_type
from workers.storage.model.signed_urls import SignedUrlScope
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import (
    SERVICE,
    SessionSettings,
    StorageIdentity,
    has_credential,
    identity_of,
    settings_for,
)
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus.errors import bad_request, unauthorized
from workers.storage.tus.headers import parse_metadata
from workers.storage.tus.rows import ResumableUpload
from workers.storage.uploads.model import ObjectAttributes, Upload

SIGNED = "/upload/resumable/sign"
_NO_CREDENTIAL = "headers must have required property 'authorization'"


@dataclass(frozen=True, slots=True)
class UploadWriter:
    """The identity, the owner of the object, and whether an existing object may be replaced."""

    identity: StorageIdentity
    owner_id: str | None
    is_upsert: bool


def is_signed(request: StorageRequest) -> bool:
    """Return whether a request is authorized by an upload token instead of an access token."""
    return request.http.path == SIGNED or request.http.path.startswith(f"{SIGNED}/")


def writer_of(context: StorageContext, request: StorageRequest, bucket: str, key: str) -> UploadWriter:
    """Return the writer of an object.

    Raises: StorageError, TusError: 401 without credentials, 400 for an API key alone.
    """
    if is_signed(request):
        token = (request.header("x-signature") or "").strip()
        if not token:
            raise invalid_signature("Missing x-signature header")
        claims = context.signer.read(token, SignedUrlScope.UPLOAD, f"{bucket}/{key}")
        return UploadWriter(SERVICE, claims.owner, bool(claims.upsert))
    if not has_credential(request.http.headers):
        raise bad_request(_NO_CREDENTIAL) if request.header("apikey") else unauthorized()
    identity = identity_of(request.http.caller, request.http.headers)
    return UploadWriter(identity, identity.subject, request.is_true("x-upsert"))


def upload_of(row: ResumableUpload, identity: StorageIdentity, length: int | None) -> Upload:
    """Return an existing upload as an `Upload` with an identity."""
    content = content_headers_of_fields(parse_metadata(row.upload_metadata or ""))
    media_type = stored_media_type(row.content_type)
    about = ObjectAttributes(media_type, row.cache_control, "", row.own_metadata, content)
    return Upload(
        row.bucket_id, row.key, identity, row.owner_id, row.upsert, about, length, is_standard=False
    )


def settings_of(request: StorageRequest, upload: Upload) -> SessionSettings:
    """Return the settings of a transaction in which the policies for this upload apply."""
    return settings_for(upload.identity, request.http, request.operation)
