"""Between the two steps of an upload: how the edge takes a signed body apart, and what it found wrong with it. Pure.

The edge reads the frames and hashes of a body (`services/gateway/s3_chunks.py`) with the key of the day, region and
service that signed it; a body that is not as signed comes back as `Stored` that is not complete, with the code of its
refusal in `fields`.
"""

import re

import msgspec

from schemas.blobs import Stored
from schemas.http import Response
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error
from workers.storage.s3.sigv4 import UNSIGNED

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
    "IncompleteBody": (400, "The body is not as long as x-amz-decoded-content-length says."),
    "MalformedTrailerError": (400, "The request contained trailing data that was not well-formed."),
    "InvalidChunk": (400, "The body is not well-formed aws-chunked."),
}


def wanting(asking: Asking, granted: Response) -> Response:
    """Say in a grant how the body is signed. Raises: S3Error."""
    assert granted.wanted is not None  # a grant has one
    payload = asking.payload
    if payload in _SIGNED_CHUNKS and asking.has("X-Amz-Signature"):
        raise S3Error("InvalidRequest", "A presigned URL cannot sign chunks")
    if payload in _SIGNED_CHUNKS:
        wanted = msgspec.structs.replace(granted.wanted, is_chunked=True, chunk_key=asking.signing_key)
    elif payload == _PLAIN_CHUNKS:
        wanted = msgspec.structs.replace(granted.wanted, is_chunked=True)
    elif payload == UNSIGNED or _HASH.fullmatch(payload):
        wanted = granted.wanted
    else:
        raise S3Error("InvalidRequest", "x-amz-content-sha256 is none of those that are supported")
    return msgspec.structs.replace(granted, wanted=wanted)


def received(stored: Stored) -> None:
    """Raises: S3Error for a body that the edge found not to be as it was signed."""
    code = stored.fields.get("refusal", "")
    if code:
        status, message = _WORDS.get(code, (400, "The body is not as it was signed."))
        raise S3Error(code, message, status)
    if stored.is_too_long:
        raise S3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", 413)
