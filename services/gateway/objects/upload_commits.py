"""Commits of uploads: the pool writes the row of a blob that is complete, or the blob is removed.

    granted    the pool has granted the upload and chosen the version -> row
    allowed    the blob was stored under an allowance -> row; or a grant: the blob is linked to the granted version -> row

If it is unknown whether the row was written (the worker died, the database did not answer), the blob stays: the sweep removes
blobs without a row later. A request that no worker has started leaves no blob, and after an error the caller's next upload is
granted before its bytes: so a flood of uploads that fail cannot fill the disk.
"""

import contextlib
from collections.abc import Mapping

import msgspec

from broker.blobs.errors import BlobStoreDown
from broker.blobs.model import StagedBlob
from broker.blobs.store import BlobStore
from broker.requests.call import Calls, PoolReply
from broker.requests.open_calls import RequestUndelivered
from broker.subjects import STORAGE
from schemas.blobs import StoredBody, UploadAllowance, UploadGrant
from schemas.errors import ApiError
from schemas.http import Request, Response
from services.gateway.objects.blob_responses import blob_name_of
from services.gateway.objects.store_errors import store_unavailable
from services.gateway.objects.upload_allowances import UploadAllowances


class UploadCommits:
    """Sends the commits of one edge to the storage pool."""

    def __init__(self, calls: Calls, blobs: BlobStore, allowances: UploadAllowances) -> None:
        self._calls, self._blobs, self._allowances = calls, blobs, allowances

    async def granted(
        self, message: Request, grant: UploadGrant, staged: StagedBlob, fields: Mapping[str, str]
    ) -> PoolReply:
        """Commit the row of a granted upload. If the pool rejects it, the blob is removed as well. Raises: Unavailable."""
        stored = StoredBody(grant.ticket, staged.size, staged.md5, fields=dict(fields))
        try:
            answer = await self._calls.call(STORAGE, msgspec.structs.replace(message, stored=stored))
        except RequestUndelivered:
            await self._discard(staged)
            raise
        if _is_rejected(answer.response):
            await self._discard(staged)
        return answer

    async def allowed(
        self,
        message: Request,
        allowance: UploadAllowance,
        version: str,
        staged: StagedBlob,
        fields: Mapping[str, str],
    ) -> PoolReply:
        """Commit the row of an upload that was stored under an allowance. Raises: Unavailable."""
        sent_at = self._allowances.now()
        stored = StoredBody(allowance.ticket, staged.size, staged.md5, fields=dict(fields), version=version)
        try:
            answer = await self._calls.call(STORAGE, msgspec.structs.replace(message, stored=stored))
        except ApiError as error:
            self._allowances.forget(message)
            if isinstance(error, RequestUndelivered):
                await self._discard(staged)
            raise
        if _is_of_earlier_version(answer.response):
            self._allowances.forget(message)
            answer = await self._calls.call(STORAGE, message)
        response = answer.response
        if response.grant is not None:
            self._allowances.store(message, response.grant, sent_at)
            return await self._moved(message, response.grant, staged, fields)
        if response.status != 200:
            self._allowances.forget(message)
        if _is_rejected(response):
            await self._discard(staged)
        return answer

    async def too_long(self, message: Request, grant: UploadGrant, fields: Mapping[str, str]) -> PoolReply:
        """Report that the body is longer than granted; return the error. Raises: Unavailable."""
        stored = StoredBody(grant.ticket, 0, is_too_long=True, fields=dict(fields))
        return await self._calls.call(STORAGE, msgspec.structs.replace(message, stored=stored))

    async def _moved(
        self, message: Request, grant: UploadGrant, staged: StagedBlob, fields: Mapping[str, str]
    ) -> PoolReply:
        """Commit a blob as the version of a grant: the pool did not write it as the version of the allowance."""
        if staged.size > grant.most:
            await self._discard(staged)
            return await self.too_long(message, grant, fields)
        place = blob_name_of(grant.blob)
        try:
            await self._blobs.copy(staged.place, place)
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        finally:
            await self._discard(staged)
        return await self.granted(message, grant, StagedBlob(place, place, staged.size, staged.md5), fields)

    async def _discard(self, staged: StagedBlob) -> None:
        with contextlib.suppress(BlobStoreDown):  # the sweep removes it later
            await self._blobs.discard(staged)


def _is_rejected(response: Response) -> bool:
    """Return whether the pool has surely written no row: it rejected the upload, or could not begin."""
    return 400 <= response.status < 500 or bool(response.rejected_by)


def _is_of_earlier_version(response: Response) -> bool:
    """Return whether a pool that knows no allowances has answered, during an upgrade: it takes the ticket for that of a grant."""
    return response.status == 400 and b'"InvalidSignature"' in response.body
