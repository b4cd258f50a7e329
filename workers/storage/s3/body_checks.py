"""Signed bodies: what the gateway needs to check one, and what it reports back. Pure.

The gateway reads the frames and hashes of a body (`services/gateway/objects/s3/chunks.py`) with the signing key of its day,
region and service. A body that does not match its signature comes back as an incomplete `StoredBody` with an error code
in `fields`.
"""

import re

import msgspec

from schemas.blobs import StoredBody
from schemas.http import Response
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.request import S3Request
from workers.storage.s3.protocol.sigv4 import UNSIGNED

_SIGNED_CHUNKS = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
_PLAIN_CHUNKS = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_HASH = re.compile(r"[0-9a-fA-F]{64}")
_WORDS = {
    "SignatureDoesNotMatch": (403, "The signature of a chunk does not match its bytes."),
    "XAmzContentSHA256Mismatch": (
        400,
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
    ),
    "BadDigest": (400, "A checksum you specified did not match what we received."),
    "InvalidRequest": (400, "The value of an x-amz-checksum- header is not valid."),
    "IncompleteBody": (400, "The body is not as long as x-amz-decoded-content-length says."),
    "MalformedTrailerError": (400, "The request contained trailing data that was not well-formed."),
    "InvalidChunk": (400, "The body is not well-formed aws-chunked."),
}


def grant_body(request: S3Request, granted: Response) -> Response:
    """Add to a grant how the body is signed. Raises: S3Error."""
    assert granted.grant is not None  # every grant has one
    payload = request.payload
    if payload in _SIGNED_CHUNKS and request.has("X-Amz-Signature"):
        raise S3Error("InvalidRequest", "A presigned URL cannot sign chunks")
    if payload in _SIGNED_CHUNKS:
        signed_grant = msgspec.structs.replace(granted.grant, is_chunked=True, chunk_key=request.signing_key)
    elif payload == _PLAIN_CHUNKS:
        signed_grant = msgspec.structs.replace(granted.grant, is_chunked=True)
    elif payload == UNSIGNED or _HASH.fullmatch(payload):
        signed_grant = granted.grant
    else:
        raise S3Error("InvalidRequest", "x-amz-content-sha256 is none of those that are supported")
    return msgspec.structs.replace(granted, grant=signed_grant)


def check_stored(stored: StoredBody) -> None:
    """Raises: S3Error if the gateway found that the body does not match its signature."""
    code = stored.fields.get("refusal", "")
    if code:
        status, message = _WORDS.get(code, (400, "The body is not as it was signed."))
        raise S3Error(code, message, status)
    if stored.is_too_long:
        raise S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", 413)
