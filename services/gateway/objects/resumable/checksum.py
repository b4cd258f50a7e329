"""`Upload-Checksum`: a piece of a resumable upload that counts only if its hash is the one that was sent.

The piece is written aside first: what is appended to an upload cannot be taken back.
Source: tus.io, "Resumable upload protocol 1.0.x", extension Checksum.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from broker.blobs.blob_names import staging
from broker.blobs.store import BlobStore
from services.gateway.requests.forward import BodyRejected

ALGORITHMS = ("md5", "sha1")
MISMATCH = 460
"""The status of a piece whose hash is another one."""


@dataclass(frozen=True, slots=True)
class PieceChecksum:
    """What the hash of a piece shall be."""

    algorithm: str
    digest: bytes


def read_checksum(header: str | None) -> PieceChecksum | None:
    """Read `<algorithm> <base64>`. Raises: BodyRejected (400)."""
    if header is None:
        return None
    algorithm, _, text = header.strip().partition(" ")
    if algorithm.lower() not in ALGORITHMS:
        raise BodyRejected(400, "Unsupported checksum algorithm")
    try:
        digest = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise BodyRejected(400, "Upload-Checksum is malformed") from None
    return PieceChecksum(algorithm.lower(), digest)


@asynccontextmanager
async def verified_pieces(
    blobs: BlobStore, pieces: AsyncIterator[bytes], wanted: PieceChecksum, limit: int
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Return the same bytes, once all of them came and their hash is right.

    Raises: BodyRejected (460, and as `pieces` does), BlobTooLarge, BlobStoreDown.
    """
    running = hashlib.new(wanted.algorithm, usedforsecurity=False)
    async with blobs.stage(staging(uuid4()), limit=limit) as writing:
        async for piece in pieces:
            running.update(piece)
            await writing.write(piece)
        if not hmac.compare_digest(running.digest(), wanted.digest):
            raise BodyRejected(MISMATCH, "Checksum mismatch")
        staged = await writing.finish()
    try:
        async with blobs.read(staged.name) as reading:
            yield reading.chunks
    finally:
        await blobs.discard(staged)
