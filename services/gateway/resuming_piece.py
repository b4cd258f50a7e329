"""One piece of a resumable upload: the body of a request, appended, and the pool told how far it came.

    append -> closed, whatever happened -> a blob, if that was the last byte -> the pool is told -> its answer

What arrived is kept, also when the client broke off, the store ran full, or another request took the upload over. Once it
has begun it is finished, whether or not somebody waits for the answer.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from broker.blobs.errors import BlobMissing, BlobOffset, BlobStoreDown, BlobTooLarge
from broker.blobs.model import Staged
from broker.blobs.staging import Appending
from broker.blobs.store import BlobStore
from broker.requests.call import Answer, Calls
from broker.subjects import STORAGE
from schemas.blobs import Stored, Wanted
from schemas.errors import Unavailable
from schemas.http import Request
from services.gateway.forward import BodyRefused
from services.gateway.pace import Pace
from services.gateway.resuming_checksum import Checksum, verified
from services.gateway.resuming_lease import Lease
from services.gateway.serving import place_of
from services.gateway.store_errors import store_unavailable
from services.gateway.uploading import open_body

_LOCKED = "The resource is locked"
_TRIES_AFTER_S = (0.2, 1.0, 2.0)
"""Pauses before the pool is told once more: a worker that died is replaced by then, and telling it twice is fine."""


@dataclass(slots=True)
class Piece:
    """A body on its way. `stop` ends it early: the client is gone, or somebody else wants the upload."""

    calls: Calls
    blobs: BlobStore
    request: web.BaseRequest
    asked: Request
    wanted: Wanted
    lease: Lease
    checksum: Checksum | None
    pace: Pace
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> Answer:
        """Append the body, and give the answer. Raises: BodyRefused, Unavailable, DeadlineExceeded."""
        wanted, offset, staged = self.wanted, self.wanted.offset, None
        try:
            appending = await self.blobs.append(wanted.blob.version, offset, limit=wanted.most)
            async with appending:
                failure = await self._fed(appending)
            offset = appending.offset
            if offset == wanted.length:
                staged = await self._whole()
        except BlobOffset:
            failure = BodyRefused(409, "Upload-Offset conflict")
        except BlobMissing:
            failure = BodyRefused(423, _LOCKED)  # who took it over has ended it
        except BlobStoreDown as error:
            failure, staged = store_unavailable(error), None
        return await self._reported(offset, staged, failure)

    async def _fed(self, appending: Appending) -> Exception | None:
        """Append until the body ends or something else does; give what went wrong."""
        loop = asyncio.get_running_loop()
        feeding = loop.create_task(self._feed(appending))
        others = [loop.create_task(self.stop.wait()), loop.create_task(self.lease.keep())]
        await asyncio.wait({feeding, *others}, return_when=asyncio.FIRST_COMPLETED)
        for each in (feeding, *others):
            each.cancel()
        outcome, *rest = await asyncio.gather(feeding, *others, return_exceptions=True)
        if defect := next((each for each in rest if isinstance(each, Exception)), None):
            raise defect
        if isinstance(outcome, ConnectionError) or self.stop.is_set():
            await self._keep_unread(appending)
        if isinstance(outcome, asyncio.CancelledError):
            return BodyRefused(423, _LOCKED)
        if isinstance(outcome, ConnectionError):
            return BodyRefused(400, "The body ended before its end")
        if isinstance(outcome, BodyRefused | BlobTooLarge | BlobStoreDown):
            return outcome
        if isinstance(outcome, BaseException):
            raise outcome
        return None

    async def _feed(self, appending: Appending) -> None:
        body = await open_body(self.request, self.pace, takes_forms=False)
        if self.checksum is None:
            async for piece in body.pieces:
                await appending.write(piece)
            return
        room = self.wanted.most - self.wanted.offset
        async with verified(self.blobs, body.pieces, self.checksum, room) as pieces:
            async for piece in pieces:
                await appending.write(piece)

    async def _keep_unread(self, appending: Appending) -> None:
        """Append what came of the body and was not read yet: of a fast client a few hundred KiB.

        There is no public way: reading raises as soon as the connection is lost.
        """
        if self.checksum is None:
            with contextlib.suppress(BlobTooLarge, BlobStoreDown):  # then it is as if it had not come
                await appending.write(self.request.content._read_nowait(-1))

    async def _whole(self) -> Staged:
        """Make one blob of all that came, at the object's place. The time of that grows with the size."""
        keeping = asyncio.get_running_loop().create_task(self.lease.keep(gives_way=False))
        try:
            staged = await self.blobs.complete(self.wanted.blob.version, place_of(self.wanted.blob))
            await self.blobs.promote(staged)
            return staged
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _reported(self, offset: int, staged: Staged | None, failure: Exception | None) -> Answer:
        """Tell the pool, which sees to it that a refused object leaves no blob at its place. What was appended stays."""
        stored = Stored(
            self.wanted.ticket,
            offset,
            staged.md5 if staged else "",
            is_complete=failure is None,
            is_too_long=isinstance(failure, BlobTooLarge),
        )
        answer = await self._told(msgspec.structs.replace(self.asked, stored=stored))
        if staged is not None or failure is None or isinstance(failure, BlobTooLarge):
            return answer
        raise failure

    async def _told(self, told: Request) -> Answer:
        for pause_s in _TRIES_AFTER_S:
            with contextlib.suppress(Unavailable):
                return await self.calls.call(STORAGE, told)
            await asyncio.sleep(pause_s)
        return await self.calls.call(STORAGE, told)
