"""The storage area's own way through the door: bytes of objects go between the client and the blob store, never by NATS.

    upload      ask the pool with the head -> `wanted` -> the body becomes a blob -> ask again with `stored` -> the answer
    download    ask the pool -> `claim` -> the blob is sent
    else        as every request

Once a blob is complete its commit is finished, also if the client goes away: then nobody hears the answer.
Source: architecture, "Claim check for storage objects".
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from broker.blobs.errors import BlobStoreDown, BlobTooLarge
from broker.blobs.model import Staged
from broker.blobs.store import BlobStore
from broker.requests.call import Answer, Calls
from broker.subjects import STORAGE
from schemas.blobs import Form, Stored, Wanted
from schemas.http import Headers, Request, Response
from services.gateway.forward import let_go_on
from services.gateway.pace import Pace, Patience
from services.gateway.resuming import Resuming, is_resumable
from services.gateway.s3_body import object_bytes
from services.gateway.s3_chunks import Spoilt
from services.gateway.s3_refusals import PREFIX, sent_in_xml
from services.gateway.serving import Server, place_of
from services.gateway.store_errors import store_unavailable
from services.gateway.uploading import Body, open_body

T = TypeVar("T")

_NO_BYTES = frozenset({"list", "list-v2", "move", "copy", "sign", "public", "authenticated", "info"})
"""What may follow `/object/` in the path of a POST or PUT that carries no object."""


def carries_object(method: str, path: str) -> bool:
    """Tell whether the body of a request to storage is the bytes of an object. `path` is below the area's prefix. Pure."""
    if is_resumable(path):  # a body may be there, and addresses are the door's to tell
        return True
    if method not in ("POST", "PUT"):
        return False
    _, area, *rest = path.split("/")
    if area == "s3":
        return method == "PUT" and bool("/".join(rest[1:]))
    if area != "object" or not rest:
        return False
    if rest[0] == "upload":
        return method == "PUT" and rest[1:2] == ["sign"]
    return rest[0] not in _NO_BYTES and len(rest) > 1


class Objects:
    """Answers requests of the storage area that are more than a message."""

    def __init__(self, calls: Calls, blobs: BlobStore, resuming: Resuming, patience: Patience) -> None:
        self._calls = calls
        self._resuming = resuming
        self._blobs = blobs
        self._server = Server(blobs)
        self._patience = patience
        self._under_way: set[asyncio.Task[Any]] = set()

    async def receive(self, request: web.BaseRequest, asked: Request) -> Answer:
        """Put the body of an upload into the store and give the pool's answer. Raises: BodyRefused, Unavailable."""
        if is_resumable(asked.path):
            return await self._resuming.answer(request, asked)
        await let_go_on(request)
        is_s3 = asked.path.startswith("/s3/")
        body = await open_body(request, Pace(self._patience), takes_forms=not is_s3)
        head = b""
        if body.is_form and body.has_file:
            head = msgspec.msgpack.encode(Form(dict(body.fields), body.content_type))
        answer = await self._calls.call(STORAGE, msgspec.structs.replace(asked, body=head))
        wanted = answer.response.wanted
        if wanted is None:
            return answer
        asked = msgspec.structs.replace(asked, body=head)
        if is_s3:
            body.pieces = object_bytes(body.pieces, dict(reversed(asked.headers)), asked.query, wanted)
        try:
            staged = await self._staged(body, wanted)
        except Spoilt as error:
            told = Stored(wanted.ticket, 0, is_complete=False, fields={"refusal": error.code})
            return await self._calls.call(STORAGE, msgspec.structs.replace(asked, stored=told))
        except BlobTooLarge:
            told = Stored(wanted.ticket, 0, is_too_long=True, fields=body.fields)
            return await self._calls.call(STORAGE, msgspec.structs.replace(asked, stored=told))
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        return await self._finish(self._commit(asked, wanted, staged, body.fields))

    async def send(
        self, request: web.BaseRequest, response: Response, asked: Mapping[str, str], extra: Headers
    ) -> web.StreamResponse:
        """Send the blob of an answer's claim. Raises: Unavailable."""
        assert response.claim is not None  # whoever calls has looked
        try:
            sent = await self._server.send(request, response, response.claim, asked, extra)
        except BlobStoreDown as error:
            raise store_unavailable(error) from None
        return sent_in_xml(sent) if request.path.startswith(PREFIX) else sent

    async def close(self) -> None:
        """Wait for commits that are under way."""
        await self._resuming.close()
        if self._under_way:
            await asyncio.wait(self._under_way)
        await self._blobs.close()

    async def _staged(self, body: Body, wanted: Wanted) -> Staged:
        """Have the body lie at its place as a blob; leave nothing if that fails."""
        async with self._blobs.stage(place_of(wanted.blob), limit=wanted.most) as staging:
            async for piece in body.pieces:
                await staging.write(piece)
            return await staging.finish_in_place()

    async def _commit(self, asked: Request, wanted: Wanted, staged: Staged, fields: dict[str, str]) -> Answer:
        """Have the row of a blob written. A refusal leaves neither.

        Where nobody knows whether the row was written (the worker died, the database did not answer), the blob stays: the
        sweep removes it if it has no row.
        """
        stored = Stored(wanted.ticket, staged.size, staged.md5, fields=fields)
        answer = await self._calls.call(STORAGE, msgspec.structs.replace(asked, stored=stored))
        if 400 <= answer.response.status < 500:
            with contextlib.suppress(BlobStoreDown):  # then the sweep finds it
                await self._blobs.discard(staged)
        return answer

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # told to who waits, if anybody still does
