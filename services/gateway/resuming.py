"""Resumable uploads (TUS 1.0.0) at the door: their bytes go to the blob store here, all else is the pool's to say.

    OPTIONS                 answered here
    POST, PATCH             ask the pool -> `wanted` -> a `Piece` of the upload -> the pool's answer
    HEAD, DELETE            ask the pool

A request for an upload that is being written makes this edge's own writer let go first; the pool waits for those of others.
Source: reference page "storage", section 9.
"""

import asyncio
from collections.abc import Mapping
from urllib.parse import unquote

import msgspec
from aiohttp import web

from broker.blobs.store import BlobStore
from broker.requests.call import Answer, Calls
from broker.subjects import STORAGE
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Headers, Request, Response, header
from services.gateway.forward import BodyRefused, let_go_on
from services.gateway.pace import Pace, Patience
from services.gateway.public_address import PREFIX, PublicAddress
from services.gateway.resuming_checksum import ALGORITHMS, read_checksum
from services.gateway.resuming_lease import Lease
from services.gateway.resuming_piece import Piece
from services.middleware.cors import MAX_AGE_S

AREA = "/upload/resumable"
"""Path of resumable uploads, below that of the storage."""
ROUTE = f"{PREFIX}{AREA}"
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
"""Seconds that a writer of this edge has to make what came safe; after that the pool waits for it."""


def is_resumable(path: str) -> bool:
    """Tell whether a path below the storage's is one of resumable uploads. Pure."""
    plain = unquote(path) if "%" in path else path
    return plain == AREA or plain.startswith(f"{AREA}/")


def options(most: int, asked_headers: str | None) -> Response:
    """Say what is spoken here, and what pages of other origins may ask. `most` is the longest upload. Pure."""
    asked = [name.strip() for name in (asked_headers or "").split(",") if name.strip()]
    known = {name.lower() for name in _ALLOWED}
    allowed = [*_ALLOWED, *(name for name in asked if name.lower() not in known)]
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


class Resuming:
    """Answers requests of resumable uploads."""

    def __init__(self, calls: Calls, blobs: BlobStore, address: PublicAddress, patience: Patience) -> None:
        self._calls, self._blobs, self._address = calls, blobs, address
        self._patience = patience
        self._writing: dict[asyncio.Task[Answer], tuple[str, Piece]] = {}

    async def answer(self, request: web.BaseRequest, asked: Request) -> Answer:
        """Answer one request; refusals are text."""
        asked = _overridden(asked)
        try:
            answer = await self._answer(request, asked)
        except BodyRefused as error:
            return _refusal(error.status, error.message)
        except (Unavailable, DeadlineExceeded) as error:
            return _refusal(error.status, str(error), error.headers())
        return self._located(answer, request, asked)

    async def close(self) -> None:
        """End what is being written, and wait until it is safe."""
        for _, piece in self._writing.values():
            piece.stop.set()
        if self._writing:
            await asyncio.wait(self._writing)

    async def _answer(self, request: web.BaseRequest, asked: Request) -> Answer:
        checksum = read_checksum(header(asked.headers, "upload-checksum"))
        id = asked.path.rpartition("/")[2] if asked.method != "POST" else ""
        await self._let_go(id)
        began_at = asyncio.get_running_loop().time()
        answer = await self._calls.call(STORAGE, asked)
        wanted = answer.response.wanted
        if wanted is None:
            return answer
        await let_go_on(request)
        lease = Lease(self._calls, asked, wanted.ticket, began_at)
        pace = Pace(self._patience)
        piece = Piece(self._calls, self._blobs, request, asked, wanted, lease, checksum, pace)
        return await self._finish(id, piece)

    async def _finish(self, id: str, piece: Piece) -> Answer:
        """Run a piece to its end, which comes soon when the client leaves."""
        task = asyncio.get_running_loop().create_task(piece.run())
        self._writing[task] = id, piece
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        finally:
            piece.stop.set()

    async def _let_go(self, id: str) -> None:
        """Have this edge's writer of an upload let go of it."""
        tasks = [task for task, (own, _) in self._writing.items() if id and own == id]
        for task in tasks:
            self._writing[task][1].stop.set()
        if tasks:
            await asyncio.wait(tasks, timeout=_LET_GO_S)

    def _ended(self, task: "asyncio.Task[Answer]") -> None:
        del self._writing[task]
        if not task.cancelled():
            task.exception()  # told to who waits, if anybody still does

    def _located(self, answer: Answer, request: web.BaseRequest, asked: Request) -> Answer:
        """Make the `Location` of a new upload absolute."""
        if (path := header(answer.response.headers, "location")) is None:
            return answer
        first: Mapping[str, str] = dict(reversed(asked.headers))
        url = f"{self._address.of(request, first)}{path}"
        kept = [pair for pair in answer.response.headers if pair[0] != "location"]
        return Answer(msgspec.structs.replace(answer.response, headers=[("location", url), *kept]))


def _overridden(asked: Request) -> Request:
    """Give the request that a client means that can send nothing but GET and POST."""
    meant = (header(asked.headers, "x-http-method-override") or "").strip().upper()
    is_meant = asked.method == "POST" and meant in ("PATCH", "HEAD", "DELETE")
    return msgspec.structs.replace(asked, method=meant) if is_meant else asked


def _refusal(status: int, message: str, more: Headers | None = None) -> Answer:
    return Answer(Response(status, [_TEXT, _VERSION, *(more or [])], message.encode(errors="replace")))
