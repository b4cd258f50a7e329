"""Asks the images pool for a picture. What it refuses passes on as it is: its refusals have the shape of this area.

What it said once is remembered: a picture that is made already is found without asking.
"""

import math
import os
import time
from collections import OrderedDict
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from broker.blobs.blob_names import Place, transform
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from broker.requests.call import Calls
from broker.subjects import IMAGES
from broker.token_buckets import Buckets
from schemas.blobs import Blob
from schemas.errors import ApiError, DeadlineExceeded, Unavailable
from schemas.http import Request, Response
from schemas.images.transform import Order, Rendered
from workers.storage.errors import Code, StorageError

_MOST = 10_000
_LATELY_S = 30.0
_RETRY = [("retry-after", "1")]


class ImageMaker(Protocol):
    """Makes a picture, or finds it where it was made before."""

    def __call__(self, order: Order, request_id: str, budget_ms: int) -> Awaitable[Rendered]:
        """Raises: ApiError."""
        ...


class RenderRefused(ApiError):
    """The images pool refused; `answer` is what it said."""

    def __init__(self, answer: Response) -> None:
        super().__init__(f"the images pool answered {answer.status}")
        self.status, self.answer = answer.status, answer

    def response(self) -> Response:
        return self.answer


@dataclass(frozen=True, slots=True)
class AskedImages:
    """`Renderer` over the broker."""

    calls: Calls

    async def __call__(self, order: Order, request_id: str, budget_ms: int) -> Rendered:
        """Have a picture made. Raises: RenderRefused; StorageError if nobody answers, or not in time."""
        body = msgspec.msgpack.encode(order)
        asked = Request(id=request_id, method="POST", path="/render", budget_ms=budget_ms, body=body)
        try:
            answer = (await self.calls.call(IMAGES, asked)).response
        except DeadlineExceeded:
            raise StorageError(Code.REQUEST_TIMEOUT, "Image request timed out", 408) from None
        except Unavailable:
            raise _away() from None
        if answer.status == 503:
            raise _away()
        if answer.status >= 500 and b"statusCode" not in answer.body:
            raise StorageError(Code.INTERNAL_ERROR, "Internal Server Error", 500, error="Internal")
        if answer.status != 200:
            raise RenderRefused(answer)
        return msgspec.json.decode(answer.body, type=Rendered)


@dataclass(slots=True)
class _Known:
    """What was said of a picture, where it lies, and when it was last looked up there."""

    rendered: Rendered
    place: Place
    path: Path | None
    seen_at: float = -math.inf


class Remembered:
    """`Renderer` that asks another one only for what it does not know, or what is there no more.

    A file on a local disk that was looked up a moment ago is looked up without a thread, which would take longer than all
    else here: the kernel still knows it, so nothing waits for the disk.
    """

    def __init__(
        self, render: ImageMaker, blobs: BlobStore, most: int = _MOST, clients: Buckets | None = None
    ) -> None:
        self._render, self._blobs, self._most = render, blobs, most
        self._clients = clients or Buckets(0, 1)
        self.new_bytes = 0
        """Bytes of pictures that were made, until somebody sets it back: who sweeps the cache looks at it."""
        self._known: OrderedDict[Blob, _Known] = OrderedDict()

    async def __call__(self, order: Order, request_id: str, budget_ms: int, client: str = "") -> Rendered:
        """Tell what lies under an order's key. Raises: as the other one; BlobStoreDown; StorageError (429).

        `client` is whom a picture that has to be made is counted for; empty: it is not counted.
        """
        name = order.result
        known = self._known.get(name)
        if known is not None and await self._is_there(known):
            self._known[name] = known
            self._known.move_to_end(name)
            return known.rendered
        is_new = not await self._is_made(order)
        if is_new and client:
            self._count(client)
        rendered = await self._render(order, request_id, budget_ms)
        if is_new and not rendered.is_source:
            self.new_bytes += rendered.size
        place = transform(name.version, name.transform)
        self._known[name] = _Known(rendered, place, self._blobs.local_path(place))
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return rendered

    async def _is_made(self, order: Order) -> bool:
        """Tell whether a picture was made before: then another worker knows it, or this one before its restart."""
        about = order.about
        try:
            await self._blobs.stat(transform(about.version, about.transform))
        except BlobMissing:
            return False
        return True

    def _count(self, client: str) -> None:
        """Count a new picture. Raises: StorageError (429) with the seconds to wait."""
        wait_s = self._clients.take(client, time.monotonic())
        if wait_s:
            message = "Too many new images were requested"
            after = [("retry-after", str(math.ceil(wait_s)))]
            raise StorageError(Code.SLOW_DOWN, message, 429, error="too_many_requests", headers=after)

    async def _is_there(self, known: _Known) -> bool:
        """Tell whether the bytes lie there still: pictures are dropped with their version, and to make room."""
        if known.rendered.is_source:
            return True  # a row names it
        now = time.monotonic()
        path = known.path if now - known.seen_at < _LATELY_S else None
        try:
            size = (await self._blobs.stat(known.place)).size if path is None else os.stat(path).st_size
        except (BlobMissing, OSError):
            return False
        known.seen_at = now
        return size == known.rendered.size


def _away() -> StorageError:
    """Nobody renders now; HTTP says so, for a later attempt may succeed."""
    message = "Images cannot be rendered now"
    return StorageError(Code.SLOW_DOWN, message, 503, status=503, headers=_RETRY)
