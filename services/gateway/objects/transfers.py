"""Uploads and downloads of objects: their bytes pass between the client and the blob store; only small uploads through NATS.

    upload      call the pool with the head -> `wanted` -> the body becomes a blob -> call it again with `stored` -> the answer
    allowed     the body becomes a blob -> call the pool with `stored` -> the answer, or `wanted`, and the blob gets its version
    small       call the pool with head and body -> the answer, or `wanted`, and then as an upload
    download    call the pool -> `claim` -> the blob is sent
    else        the pool answers alone

Once a blob is complete, its commit runs to the end, also if the client disconnects; the response is dropped then.
The pattern is known as "claim check": a message carries a reference to a large payload.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar
from urllib.parse import unquote

import msgspec
from aiohttp import web

from broker.blobs.errors import BlobMissing, BlobStoreDown, BlobTooLarge
from broker.blobs.model import StagedBlob
from broker.blobs.store import BlobStore
from broker.requests.call import Calls, PoolReply
from broker.subjects import STORAGE
from schemas.blobs import SMALL_OBJECT, BlobReference, FormHead, StoredBody, UploadGrant
from schemas.http import Headers, Request, Response
from services.gateway.objects.blob_responses import BlobSender, blob_name_of
from services.gateway.objects.lookup_reuse import LONGEST_CONTENT, LookupCache, PublicLookup
from services.gateway.objects.resumable.uploads import ResumableUploads, is_resumable
from services.gateway.objects.s3.body import object_bytes
from services.gateway.objects.s3.chunks import InvalidS3Body
from services.gateway.objects.s3.errors import PREFIX, sent_error_as_xml
from services.gateway.objects.store_errors import store_unavailable
from services.gateway.objects.upload_allowances import UploadAllowances, allowed_version
from services.gateway.objects.upload_body import (
    UploadBody,
    is_form,
    open_upload_body,
    pieces_of,
    read_form,
    small_bytes,
)
from services.gateway.objects.upload_commits import UploadCommits
from services.gateway.requests.compression import ResponseCompression
from services.gateway.requests.forward import BodyRejected, send_continue
from services.gateway.requests.public_address import PublicAddress
from services.gateway.requests.route_handler import MessageBody
from services.gateway.requests.transfer_rate import TransferLimits, TransferRate

T = TypeVar("T")


def carries_object(method: str, path: str) -> bool:
    """Return whether the body of a request to storage is the bytes of an object. `path` is below the area's prefix. Pure.

    This must agree with the routes of the pool (`workers/storage/routes.py`; a test compares them): the pool answers a path
    that it routes to an upload with a grant, and without the body the object would never be stored. Like the pool's
    router it splits the path first and decodes its segments afterwards.
    """
    if is_resumable(path):  # any method may carry a body, and the gateway makes `Location` absolute
        return True
    if method not in ("POST", "PUT"):
        return False
    area, *rest = (unquote(segment) for segment in path[1:].split("/"))
    if area == "s3":
        return method == "PUT" and bool("/".join(rest[1:]))
    if area != "object" or len(rest) < 2:
        return False
    if method == "PUT":
        return True
    match rest:
        case ["sign", bucket, *_]:
            return not bucket
        case ["list" | "list-v2", bucket]:
            return not bucket
        case ["upload", "sign", bucket, *key]:
            return not (bucket and "/".join(key))
    return True


class ObjectTransfers:
    """Answers requests of the storage area that are more than a message."""

    def __init__(
        self,
        calls: Calls,
        blobs: BlobStore,
        resuming: ResumableUploads,
        limits: TransferLimits,
        compression: ResponseCompression,
        address: PublicAddress,
    ) -> None:
        self.address = address
        self.lookups = LookupCache()
        self._calls = calls
        self._resuming = resuming
        self._blobs = blobs
        self._server = BlobSender(blobs, compression)
        self._limits = limits
        self._allowances = UploadAllowances()
        self._commits = UploadCommits(calls, blobs, self._allowances)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def receive(self, request: web.BaseRequest, message: Request) -> PoolReply:
        """Write the body of an upload to the store and return the pool's answer. Raises: BodyRejected, Unavailable."""
        if is_resumable(message.path):
            return await self._resuming.answer(request, message)
        await send_continue(request)
        is_s3 = message.path.startswith("/s3/")
        body = await open_upload_body(request, TransferRate(self._limits), takes_forms=not is_s3)
        head = b""
        if body.is_form and body.has_file:
            head = _form_head(body)
        answer, sent_at = None, self._allowances.now()
        if not is_s3 and self._blobs.writes_short:
            answer, head = await self._try_small(request, message, body, head)
        if head:
            message = msgspec.structs.replace(message, body=head)
        if answer is None and not is_s3:
            answer = await self._try_allowed(request, message, body)
        answer = answer or await self._calls.call(STORAGE, message)
        expected = answer.response.grant
        if expected is None:
            return answer
        self._allowances.store(message, expected, sent_at)
        if is_s3:
            headers = dict(reversed(message.headers))
            body.pieces = object_bytes(body.pieces, headers, message.query, expected, body.fields)
        return await self._store(message, body, expected)

    def short_body(self, first: Mapping[str, str], body: bytes) -> MessageBody | None:
        """Return the whole body of an upload as `receive` would send it in one message; None if it would not, or has to read it.

        `first` is the first header of each name.
        """
        if "content-length" not in first or len(body) > SMALL_OBJECT or not self._blobs.writes_short:
            return None
        content_type = first.get("content-type", "")
        if not is_form(content_type):
            return MessageBody(b"", body)
        form = read_form(content_type, body)
        return None if form is None else MessageBody(_form_head(form[0]), form[1])

    async def finish_small(self, message: Request, answer: PoolReply) -> PoolReply:
        """Return the final answer to an upload whose bytes were part of the message. Raises: Unavailable."""
        expected = answer.response.grant
        if expected is None or message.object_bytes is None:
            return answer
        fields = msgspec.msgpack.decode(message.body, type=FormHead).fields if message.body else {}
        body = UploadBody(pieces_of(message.object_bytes), fields)
        return await self._store(msgspec.structs.replace(message, object_bytes=None), body, expected)

    async def _store(self, message: Request, body: UploadBody, expected: UploadGrant) -> PoolReply:
        """Store the body of an upload that the pool has granted, and return the answer to its commit. Raises: as `receive`."""
        try:
            staged = await self._staged(body, expected.blob, expected.most)
        except InvalidS3Body as error:
            report = StoredBody(expected.ticket, 0, is_complete=False, fields={"refusal": error.code})
            return await self._calls.call(STORAGE, msgspec.structs.replace(message, stored=report))
        except BlobTooLarge:
            return await self._commits.too_long(message, expected, body.fields)
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        return await self._finish(self._commits.granted(message, expected, staged, body.fields))

    async def _try_allowed(
        self, request: web.BaseRequest, message: Request, body: UploadBody
    ) -> PoolReply | None:
        """Store the body and commit it in one call, if the caller has an allowance; return the answer.

        The answer is None if the pool must be asked first. Raises: as `receive`.
        """
        if not self._blobs.writes_short or not body.has_file:
            return None
        allowance = self._allowances.find(request, message)
        if allowance is None:
            return None
        version = allowed_version(allowance, time.time())
        try:
            staged = await self._staged(body, BlobReference(allowance.bucket, version), allowance.most)
        except BlobTooLarge:
            # The HTTP library decompressed it: `find` has compared the declared length.
            answer = await self._calls.call(STORAGE, message)
            if answer.response.grant is None:
                return answer
            return await self._commits.too_long(message, answer.response.grant, body.fields)
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        return await self._finish(self._commits.allowed(message, allowance, version, staged, body.fields))

    async def _try_small(
        self, request: web.BaseRequest, message: Request, body: UploadBody, head: bytes
    ) -> tuple[PoolReply | None, bytes]:
        """Send a small upload with its bytes; return the answer and the head of the form with all of its fields.

        The answer is None for an upload that is not small. If it is a grant, the bytes are the body's again.
        Raises: as `receive`.
        """
        try:
            data = await small_bytes(request, body, SMALL_OBJECT)
        except BodyRejected:
            # What the pool rejects without the body, it rejects first.
            answer = await self._calls.call(STORAGE, msgspec.structs.replace(message, body=head))
            if answer.response.grant is not None:
                raise
            return answer, head
        if data is None:
            return None, head
        if body.is_form:
            head = _form_head(body)
        whole = msgspec.structs.replace(message, body=head, object_bytes=data)
        answer = await self._calls.call(
            STORAGE, whole
        )  # the pool completes what it has begun, if the client leaves
        body.pieces = pieces_of(data)
        return answer, head

    async def send_public(
        self, request: web.BaseRequest, lookup: PublicLookup, message: Mapping[str, str], extra: Headers
    ) -> web.StreamResponse | None:
        """Send an object of a public bucket without asking the pool; None if it must be asked. Raises: Unavailable."""
        response = lookup.find()
        if response is None or response.claim is None:
            return None
        claim, content = response.claim, lookup.content
        try:
            if content is None and claim.size <= LONGEST_CONTENT:
                content = await self._blobs.get_small(blob_name_of(claim.blob), limit=LONGEST_CONTENT)
                lookup.store_content(content)
            sent = await self._server.send(request, response, claim, message, extra, content)
        except (BlobMissing, BlobTooLarge):
            return None
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        # Of bytes that were deleted, the pool knows what is under the name now.
        return None if sent.status == 404 else sent

    async def send(
        self, request: web.BaseRequest, response: Response, message: Mapping[str, str], extra: Headers
    ) -> web.StreamResponse:
        """Send the blob of an answer's claim. Raises: Unavailable."""
        assert response.claim is not None  # checked by the caller
        try:
            sent = await self._server.send(request, response, response.claim, message, extra)
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        if not request.path.startswith(PREFIX):
            return sent
        return sent_error_as_xml(sent, sent.headers.get("x-request-id", ""))

    async def close(self) -> None:
        """Wait for commits that are under way."""
        await self._server.close()
        await self._resuming.close()
        if self._under_way:
            await asyncio.wait(self._under_way)
        await self._blobs.close()

    async def _staged(self, body: UploadBody, blob: BlobReference, most: int) -> StagedBlob:
        """Write the body as a blob under its final name. If that fails, nothing remains."""
        async with self._blobs.stage(blob_name_of(blob), limit=most) as staging:
            async for piece in body.pieces:
                await staging.write(piece)
            return await staging.finish_in_place()

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # retrieve it, or asyncio logs it: the handler that waits has it as well


def _form_head(body: UploadBody) -> bytes:
    """Return the fields of a form as far as they are read, and the type of its file, as the pool takes them."""
    return msgspec.msgpack.encode(FormHead(dict(body.fields), body.content_type))
