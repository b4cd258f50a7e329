"""Who writes an upload, and the upload as those of one go know it.

A caller writes with his own rights; whoever has the token of a signed upload, with those of the service, on behalf of the
token's owner. What was begun belongs to who began it: policies are tried with that owner at every step, whoever asks.
"""

from dataclasses import dataclass

from workers.storage.asked import Asked
from workers.storage.callers import SERVICE, Identity, Settings, has_credential, identity_of, settings_for
from workers.storage.context import Store
from workers.storage.errors import invalid_signature
from workers.storage.media_types import stored_media_type
from workers.storage.signing import Scope
from workers.storage.tus.refusals import bad_request, unauthorized
from workers.storage.tus.rows import Row
from workers.storage.uploads import About, Upload

SIGNED = "/upload/resumable/sign"
_NO_CREDENTIAL = "headers must have required property 'authorization'"


@dataclass(frozen=True, slots=True)
class Writer:
    """With whose rights, on whose behalf, and whether what is there may be replaced."""

    identity: Identity
    owner_id: str | None
    is_upsert: bool


def is_signed(asked: Asked) -> bool:
    """Tell whether a request comes with a token in place of a caller."""
    return asked.request.path == SIGNED or asked.request.path.startswith(f"{SIGNED}/")


def writer_of(store: Store, asked: Asked, bucket: str, key: str) -> Writer:
    """Give who writes an object. Raises: StorageError, Refused: 401 for who says nothing at all, 400 for a key alone."""
    if is_signed(asked):
        token = (asked.header("x-signature") or "").strip()
        if not token:
            raise invalid_signature("Missing x-signature header")
        claims = store.signer.read(token, Scope.UPLOAD, f"{bucket}/{key}")
        return Writer(SERVICE, claims.owner, bool(claims.upsert))
    if not has_credential(asked.request.headers):
        raise bad_request(_NO_CREDENTIAL) if asked.header("apikey") else unauthorized()
    identity = identity_of(asked.request.caller, asked.request.headers)
    return Writer(identity, identity.subject, asked.is_true("x-upsert"))


def upload_of(row: Row, identity: Identity, length: int | None) -> Upload:
    """Give an upload under way, written with somebody's rights."""
    about = About(stored_media_type(row.content_type), row.cache_control, "", row.own_metadata)
    return Upload(
        row.bucket_id, row.key, identity, row.owner_id, row.upsert, about, length, is_standard=False
    )


def settings_of(asked: Asked, upload: Upload) -> Settings:
    """Give the settings of a transaction in which the policies for this upload hold."""
    return settings_for(upload.identity, asked.request, asked.operation)
