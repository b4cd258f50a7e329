"""Resumable uploads (TUS 1.0.0): their bytes are written to the blob store here, everything else is decided by the pool.

    OPTIONS                 answered here
    POST, PATCH             call the pool -> `wanted` -> a `UploadPiece` of the upload -> the pool's answer
    HEAD, DELETE            call the pool

A request for an upload that is being written stops this edge's own writer first; the pool waits for the writers of other edges.
Source: docs/reference/storage.md, section 9.
"""

import asyncio
from collections.abc import Mapping
from urllib.parse import unquote

import msgspec
from aiohttp import web

from broker.blobs.store import BlobStore
from broker.requests.call import Calls, PoolReply
from broker.subjects import STORAGE
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Headers, Request, Response, header
from services.gateway.objects.resumable.checksum import ALGORITHMS, read_checksum
from services.gateway.objects.resumable.lease import UploadLease
from services.gateway.objects.resumable.piece import UploadPiece
from services.gateway.requests.forward import BodyRejected, send_continue
from services.gateway.requests.public_address import PublicAddress
from services.gateway.requests.transfer_rate import TransferLimits, TransferRate
from services.middleware.cors import MAX_AGE_S

AREA = "/upload/resumable"
"""Path of resumable uploads below the prefix of storage."""
_VERSION = ("tus-resumable", "1.0.0")
_TEXT = ("content-type", "text/plain; charset=utf-8")
_METHODS = "POST, HEAD, PATCH, OPTIONS, DELETE"
_EXTENSIONS = "creation,creation-with-upload,creation-defer-length,termination,expiration,checksum"
_ALLOWED = (
    "Authorization", "X-Upsert", "Upload-Expires", "ApiKey", "x-signature", "Content-Type", "Tus-Resumable",
    "Upload-Length", "Upload-Offset", "Upload-Metadata", "Upload-Defer-Length", "Upload-Checksum",
    "X-HTTP-Method-Override", "X-Requested-With", "X-Request-ID", "X-Client-Info",
)  # fmt: skip
_LET_GO_S = 5.0
"""Seconds that a writer of this edge has to store what arrived; after that the pool waits for its lease."""


def is_resumable(path: str) -> bool:
    """Return whether a path below the prefix of storage is one of resumable uploads."""
    plain = unquote(path) if "%" in path else path
    return plain == AREA or plain.startswith(f"{AREA}/")


def options_response(most: int, asked_headers: str | None) -> Response:
    """Return the capabilities of the protocol and the headers of a preflight. `most` is the largest upload in bytes."""
    requested = [name.strip() for name in (asked_headers or "").split(",") if name.strip()]
    standard = {name.lower() for name in _ALLOWED}
    allowed = [*_ALLOWED, *(name for name in requested if name.lower() not in standard)]
    headers: Headers = [
        _VERSION,
        ("tus-version", _VERSION[1]),
        ("tus-extension", _EXTENSIONS),
        ("tus-max-size", str(int(most))),
        ("tus-checksum-algorithm", ",".join(ALGORITHMS)),
        ("access-control-allow-methods", _METHODS),
        ("access-control-allow-headers", ", ".join(allowed)),
        ("access-control-max-age", str(MAX_AGE_S)),
    ]
    return Response(204, headers)


class ResumableUploads:
    """Answers requests of resumable uploads."""

    def __init__(
        self, calls: Calls, blobs: BlobStore, address: PublicAddress, patience: TransferLimits
    ) -> None:
        self._calls, self._blobs, self._address = calls, blobs, address
        self._patience = patience
        self._writing: dict[asyncio.Task[PoolReply], tuple[str, UploadPiece]] = {}

    async def answer(self, request: web.BaseRequest, asked: Request) -> PoolReply:
        """Answer one request; error responses are plain text."""
        asked = _overridden(asked)
        try:
            answer = await self._answer(request, asked)
        except BodyRejected as error:
            return _refusal(error.status, error.message)
        except (Unavailable, DeadlineExceeded) as error:
            return _refusal(error.status, str(error), error.headers())
        return self._located(answer, request, asked)

    async def close(self) -> None:
        """Stop all writers and wait until their bytes are stored."""
        for _, piece in self._writing.values():
            piece.stop.set()
        if self._writing:
            await asyncio.wait(self._writing)

    async def _answer(self, request: web.BaseRequest, asked: Request) -> PoolReply:
        checksum = read_checksum(header(asked.headers, "upload-checksum"))
        id = asked.path.rpartition("/")[2] if asked.method != "POST" else ""
        await self._let_go(id)
        began_at = asyncio.get_running_loop().time()
        answer = await self._calls.call(STORAGE, asked)
        expected = answer.response.grant
        if expected is None:
            return answer
        await send_continue(request)
        lease = UploadLease(self._calls, asked, expected.ticket, began_at)
        pace = TransferRate(self._patience)
        piece = UploadPiece(self._calls, self._blobs, request, asked, expected, lease, checksum, pace)
        return await self._finish(id, piece)

    async def _finish(self, id: str, piece: UploadPiece) -> PoolReply:
        """Run a piece to its end; when the client disconnects, it stops early."""
        task = asyncio.get_running_loop().create_task(piece.run())
        self._writing[task] = id, piece
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        finally:
            piece.stop.set()

    async def _let_go(self, id: str) -> None:
        """Stop this edge's writer of an upload and wait for it, at most 5 s."""
        tasks = [task for task, (upload_id, _) in self._writing.items() if id and upload_id == id]
        for task in tasks:
            self._writing[task][1].stop.set()
        if tasks:
            await asyncio.wait(tasks, timeout=_LET_GO_S)

    def _ended(self, task: "asyncio.Task[PoolReply]") -> None:
        del self._writing[task]
        if not task.cancelled():
            task.exception()  # retrieve it, or asyncio logs it: the handler that waits has it as well

    def _located(self, answer: PoolReply, request: web.BaseRequest, asked: Request) -> PoolReply:
        """Make the `Location` of a new upload absolute."""
        if (path := header(answer.response.headers, "location")) is None:
            return answer
        first: Mapping[str, str] = dict(reversed(asked.headers))
        url = f"{self._address.of(request, first)}{path}"
        others = [pair for pair in answer.response.headers if pair[0] != "location"]
        return PoolReply(msgspec.structs.replace(answer.response, headers=[("location", url), *others]))


def _overridden(asked: Request) -> Request:
    """Apply `X-HTTP-Method-Override`, for clients that can send only GET and POST."""
    method = (header(asked.headers, "x-http-method-override") or "").strip().upper()
    is_meant = asked.method == "POST" and method in ("PATCH", "HEAD", "DELETE")
    return msgspec.structs.replace(asked, method=method) if is_meant else asked


def _refusal(status: int, message: str, more: Headers | None = None) -> PoolReply:
    return PoolReply(Response(status, [_TEXT, _VERSION, *(more or [])], message.encode(errors="replace")))
