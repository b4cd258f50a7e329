"""One piece of a resumable upload: the body of a request is appended, and the new offset is reported to the pool.

    append -> close -> complete the blob after the last byte -> report to the pool -> its answer

Bytes that arrived are stored, also when the client disconnects, the store is full, or another request takes the upload over. A
piece that has started runs to its end, also without a client that waits for the response.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from broker.blobs.errors import BlobMissing, BlobOffset, BlobStoreDown, BlobTooLarge
from broker.blobs.model import StagedBlob
from broker.blobs.staging import UploadAppender
from broker.blobs.store import BlobStore
from broker.requests.call import Calls, PoolReply
from broker.subjects import STORAGE
from schemas.blobs import StoredBody, UploadGrant
from schemas.errors import Unavailable
from schemas.http import Request
from services.gateway.objects.blob_responses import blob_name_of
from services.gateway.objects.resumable.checksum import PieceChecksum, verified_pieces
from services.gateway.objects.resumable.lease import UploadLease
from services.gateway.objects.store_errors import store_unavailable
from services.gateway.objects.upload_body import open_upload_body
from services.gateway.requests.forward import BodyRejected
from services.gateway.requests.transfer_rate import TransferRate

_LOCKED = "The resource is locked"
_TRIES_AFTER_S = (0.2, 1.0, 2.0)
"""Pauses before the report is repeated: a worker that died is replaced by then, and repeating it is safe."""


@dataclass(slots=True)
class UploadPiece:
    """Appends one body. `stop` ends it early: the client is gone, or another request wants the upload."""

    calls: Calls
    blobs: BlobStore
    request: web.BaseRequest
    asked: Request
    wanted: UploadGrant
    lease: UploadLease
    checksum: PieceChecksum | None
    pace: TransferRate
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> PoolReply:
        """Append the body and return the answer. Raises: BodyRejected, Unavailable, DeadlineExceeded."""
        expected, offset, staged = self.wanted, self.wanted.offset, None
        try:
            appending = await self.blobs.append(expected.blob.version, offset, limit=expected.most)
            async with appending:
                failure = await self._fed(appending)
            offset = appending.offset
            if offset == expected.length:
                staged = await self._whole()
        except BlobOffset:
            failure = BodyRejected(409, "Upload-Offset conflict")
        except BlobMissing:
            failure = BodyRejected(423, _LOCKED)  # the request that took it over has completed it
        except BlobStoreDown as error:
            failure, staged = store_unavailable(error), None
        return await self._reported(offset, staged, failure)

    async def _fed(self, appending: UploadAppender) -> Exception | None:
        """Append until the body ends, the lease is lost or `stop` is set; return the error, if any."""
        loop = asyncio.get_running_loop()
        feeding = loop.create_task(self._feed(appending))
        others = [loop.create_task(self.stop.wait()), loop.create_task(self.lease.keep())]
        await asyncio.wait({feeding, *others}, return_when=asyncio.FIRST_COMPLETED)
        for task in (feeding, *others):
            task.cancel()
        outcome, *rest = await asyncio.gather(feeding, *others, return_exceptions=True)
        if defect := next((task for task in rest if isinstance(task, Exception)), None):
            raise defect
        if isinstance(outcome, ConnectionError) or self.stop.is_set():
            await self._keep_unread(appending)
        if isinstance(outcome, asyncio.CancelledError):
            return BodyRejected(423, _LOCKED)
        if isinstance(outcome, ConnectionError):
            return BodyRejected(400, "The body ended before its end")
        if isinstance(outcome, BodyRejected | BlobTooLarge | BlobStoreDown):
            return outcome
        if isinstance(outcome, BaseException):
            raise outcome
        return None

    async def _feed(self, appending: UploadAppender) -> None:
        body = await open_upload_body(self.request, self.pace, takes_forms=False)
        if self.checksum is None:
            async for piece in body.pieces:
                await appending.write(piece)
            return
        room = self.wanted.most - self.wanted.offset
        async with verified_pieces(self.blobs, body.pieces, self.checksum, room) as pieces:
            async for piece in pieces:
                await appending.write(piece)

    async def _keep_unread(self, appending: UploadAppender) -> None:
        """Append the received bytes that were not read yet: a few hundred KiB of a fast client.

        Uses a private method of aiohttp, because public reads raise as soon as the connection is lost.
        """
        if self.checksum is None:
            with contextlib.suppress(BlobTooLarge, BlobStoreDown):  # as if these bytes had not arrived
                await appending.write(self.request.content._read_nowait(-1))

    async def _whole(self) -> StagedBlob:
        """Complete the blob under the object's name. The time grows with the size, so the lease is renewed meanwhile."""
        keeping = asyncio.get_running_loop().create_task(self.lease.keep(gives_way=False))
        try:
            staged = await self.blobs.complete(self.wanted.blob.version, blob_name_of(self.wanted.blob))
            await self.blobs.promote(staged)
            return staged
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _reported(self, offset: int, staged: StagedBlob | None, failure: Exception | None) -> PoolReply:
        """Report to the pool, which removes the blob of an object that it rejects. Appended bytes stay."""
        stored = StoredBody(
            self.wanted.ticket,
            offset,
            staged.md5 if staged else "",
            is_complete=failure is None,
            is_too_long=isinstance(failure, BlobTooLarge),
        )
        answer = await self._report(msgspec.structs.replace(self.asked, stored=stored))
        if staged is not None or failure is None or isinstance(failure, BlobTooLarge):
            return answer
        raise failure

    async def _report(self, message: Request) -> PoolReply:
        for pause_s in _TRIES_AFTER_S:
            with contextlib.suppress(Unavailable):
                return await self.calls.call(STORAGE, message)
            await asyncio.sleep(pause_s)
        return await self.calls.call(STORAGE, message)
