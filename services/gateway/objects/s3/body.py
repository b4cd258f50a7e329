"""The body of an S3 upload -> the bytes of the object, held against every hash that the client gave of them.

The pool has verified the signature of the head, so what the headers say is what was signed; it gives the signing key for
bodies whose chunks are signed. Hashes: SHA-256 of the whole, and the checksums of `CHECKSUM_KINDS`, as a header or as a trailer. Source: docs/reference/storage.md, section 10.
"""

import base64
import hmac
import re
from collections.abc import AsyncIterator, Mapping
from urllib.parse import parse_qs

from broker.blobs.checksums import CHECKSUM_KINDS, CHECKSUM_PREFIX, is_digest
from schemas.blobs import UploadGrant
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from services.gateway.objects.s3.chunks import ChunkDecoder, InvalidS3Body, SignatureChain

_AUTHORIZATION = re.compile(
    r"Credential=[^,\s]*?/(\d{8}/[^/,\s]*/s3/aws4_request)\s*,.*Signature=([0-9a-f]{64})"
)
_HASH = re.compile(r"[0-9a-fA-F]{64}")


async def object_bytes(
    pieces: AsyncIterator[bytes],
    headers: Mapping[str, str],
    query: str,
    expected: UploadGrant,
    verified: dict[str, str],
) -> AsyncIterator[bytes]:
    """Return the bytes of an object as they arrive. Names of headers are in lower case.

    `verified` receives, at the end, the checksums that the client declared and that match: header names to base64.
    Raises: InvalidS3Body, also at the end.
    """
    payload = _declared_payload(headers, query)
    hashes = ObjectHashes(payload if _HASH.fullmatch(payload) else "", headers)
    if not expected.is_chunked:
        async for piece in pieces:
            hashes.take(piece)
            yield piece
        verified.update(hashes.check({}))
        return
    chunks = _chunks(headers, expected, has_trailers=payload.endswith("-TRAILER"))
    async for data in pieces:
        for piece in chunks.feed(data):
            hashes.take(piece)
            yield piece
    chunks.finish()
    verified.update(hashes.check(chunks.trailers))


class ObjectHashes:
    """Running hashes of a body, of the kinds that the client gave."""

    def __init__(self, sha256: str, headers: Mapping[str, str]) -> None:
        self._sha256 = sha256.lower()
        self._headers = headers
        self._announced = {
            name.strip().lower() for name in headers.get("x-amz-trailer", "").split(",") if name.strip()
        }
        kinds = {
            name
            for name in CHECKSUM_KINDS
            if CHECKSUM_PREFIX + name in headers or CHECKSUM_PREFIX + name in self._announced
        }
        if self._sha256:
            kinds.add("sha256")
        self._running = {name: CHECKSUM_KINDS[name]() for name in sorted(kinds)}
        for name in self._running:
            declared = headers.get(CHECKSUM_PREFIX + name)
            if declared is not None and not is_digest(declared, name):
                raise InvalidS3Body("InvalidRequest")

    def take(self, piece: bytes) -> None:
        """Take bytes in."""
        for running_hash in self._running.values():
            running_hash.update(piece)

    def check(self, trailers: Mapping[str, str]) -> dict[str, str]:
        """Compare the hashes with the declared ones; return the checksums that match. Raises: InvalidS3Body."""
        if self._announced != trailers.keys():  # of one that was not announced no hash was computed
            raise InvalidS3Body("MalformedTrailerError")
        if self._sha256 and not hmac.compare_digest(self._running["sha256"].digest().hex(), self._sha256):
            raise InvalidS3Body("XAmzContentSHA256Mismatch")
        verified: dict[str, str] = {}
        for name, running_hash in self._running.items():
            computed = base64.b64encode(running_hash.digest()).decode()
            for declared in (self._headers.get(CHECKSUM_PREFIX + name), trailers.get(CHECKSUM_PREFIX + name)):
                if declared is not None and declared.strip() != computed:
                    raise InvalidS3Body("BadDigest")
                if declared is not None:
                    verified[CHECKSUM_PREFIX + name] = computed
        return verified


def _declared_payload(headers: Mapping[str, str], query: str) -> str:
    """Return how the body is signed, as the pool read it: its SHA-256 in hex, or a word. A presigned URL may say it in its query."""
    parameters = parse_qs(query)
    is_presigned = "X-Amz-Algorithm" in parameters or "X-Amz-Signature" in parameters
    in_query = parameters.get("X-Amz-Content-Sha256", [""])[0] if is_presigned else ""
    return in_query or headers.get("x-amz-content-sha256", "").strip()


def _chunks(headers: Mapping[str, str], expected: UploadGrant, *, has_trailers: bool) -> ChunkDecoder:
    """Return the decoder of the frames. Raises: InvalidS3Body if a header is missing."""
    size = parse_whole_number(headers.get("x-amz-decoded-content-length", ""), most=LARGEST_SIZE)
    if size is None:
        raise InvalidS3Body("IncompleteBody")
    if not expected.chunk_key:
        return ChunkDecoder(None, size, has_trailers=has_trailers)
    match = _AUTHORIZATION.search(headers.get("authorization", ""))
    if match is None:
        raise InvalidS3Body("SignatureDoesNotMatch")
    chain = SignatureChain(expected.chunk_key, headers.get("x-amz-date", ""), match[1], match[2])
    return ChunkDecoder(chain, size, has_trailers=has_trailers)
