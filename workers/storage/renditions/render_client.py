"""Client of the images pool, with a cache of its responses. Errors of the pool are passed on: they have the shape of
storage.
"""

import math
import os
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from broker.blobs.blob_names import BlobPath, transform
from broker.blobs.errors import BlobMissing
from broker.blobs.store import BlobStore
from broker.requests.call import Calls
from broker.subjects import IMAGES
from broker.token_buckets import Buckets
from schemas.blobs import BlobReference
from schemas.bounded_cache import BoundedCache
from schemas.errors import ApiError, DeadlineExceeded, Unavailable
from schemas.http import Request, Response
from schemas.images.transform import Rendered, RenderOrder
from workers.storage.model.errors import StorageError, StorageErrorCode

_MOST = 10_000
_RECENT_S = 30.0
_RETRY = [("retry-after", "1")]


class ImageMaker(Protocol):
    """Renders an image, or finds the rendition of an earlier request."""

    def __call__(self, order: RenderOrder, request_id: str, budget_ms: int) -> Awaitable[Rendered]:
        """Raises: ApiError."""
        ...


class RenditionRejected(ApiError):
    """The images pool returned an error; `answer` is its response."""

    def __init__(self, answer: Response) -> None:
        super().__init__(f"the images pool answered {answer.status}")
        self.status, self.answer = answer.status, answer

    def response(self) -> Response:
        return self.answer


@dataclass(frozen=True, slots=True)
class ImagesPoolClient:
    """`Renderer` that calls the images pool by message."""

    calls: Calls

    async def __call__(self, order: RenderOrder, request_id: str, budget_ms: int) -> Rendered:
        """Render an image. Raises: RenditionRejected; StorageError if the pool does not answer in time."""
        body = msgspec.msgpack.encode(order)
        request = Request(id=request_id, method="POST", path="/render", budget_ms=budget_ms, body=body)
        try:
            answer = (await self.calls.call(IMAGES, request)).response
        except DeadlineExceeded:
            raise StorageError(StorageErrorCode.REQUEST_TIMEOUT, "Image request timed out", 408) from None
        except Unavailable:
            raise _unavailable() from None
        if answer.status == 503:
            raise _unavailable()
        if answer.status >= 500 and b"statusCode" not in answer.body:
            raise StorageError(
                StorageErrorCode.INTERNAL_ERROR, "Internal Server Error", 500, error="Internal"
            )
        if answer.status != 200:
            raise RenditionRejected(answer)
        return msgspec.json.decode(answer.body, type=Rendered)


@dataclass(slots=True)
class _CachedRendition:
    """A cached response: the rendition, its blob, and when its file was last checked."""

    rendered: Rendered
    place: BlobPath
    path: Path | None
    seen_at: float = -math.inf


class CachedRenderer:
    """`Renderer` that calls another one only for renditions that it does not know, or that were deleted.

    A local file that was checked within 30 s is checked again without a thread, because a thread would take longer than
    all else here: its inode is in the kernel's cache, so the call does not block on the disk.
    """

    def __init__(
        self, render: ImageMaker, blobs: BlobStore, most: int = _MOST, clients: Buckets | None = None
    ) -> None:
        self._render, self._blobs = render, blobs
        self._clients = clients or Buckets(0, 1)
        self.new_bytes = 0
        """Bytes of new renditions since the sweep of the cache last reset it."""
        self._cache: BoundedCache[BlobReference, _CachedRendition] = BoundedCache(most)

    async def __call__(
        self, order: RenderOrder, request_id: str, budget_ms: int, client: str = ""
    ) -> Rendered:
        """Return the rendition of an order. Raises: as the other renderer; BlobStoreDown; StorageError (429).

        A new rendition counts against the rate limit of `client`; an empty client is not limited.
        """
        name = order.result
        entry = self._cache.get(name)
        if entry is not None and await self._is_there(entry):
            self._cache.put(name, entry)
            return entry.rendered
        is_new = not await self._is_made(order)
        if is_new and client:
            self._count(client)
        rendered = await self._render(order, request_id, budget_ms)
        if is_new and not rendered.is_source:
            self.new_bytes += rendered.size
        place = transform(name.version, name.transform)
        self._cache.put(name, _CachedRendition(rendered, place, self._blobs.local_path(place)))
        return rendered

    async def _is_made(self, order: RenderOrder) -> bool:
        """Return whether the rendition exists: another worker, or this one before its restart, may have ordered it."""
        about = order.about
        try:
            await self._blobs.stat(transform(about.version, about.transform))
        except BlobMissing:
            return False
        return True

    def _count(self, client: str) -> None:
        """Count a new rendition. Raises: StorageError (429) with the seconds to wait."""
        wait_s = self._clients.take(client, time.monotonic())
        if wait_s:
            message = "Too many new images were requested"
            after = [("retry-after", str(math.ceil(wait_s)))]
            raise StorageError(
                StorageErrorCode.SLOW_DOWN, message, 429, error="too_many_requests", headers=after
            )

    async def _is_there(self, entry: _CachedRendition) -> bool:
        """Return whether the blob still exists: renditions are deleted with their version, and to limit the cache."""
        if entry.rendered.is_source:
            return True  # the source itself, which a row names
        now = time.monotonic()
        path = entry.path if now - entry.seen_at < _RECENT_S else None
        try:
            size = (await self._blobs.stat(entry.place)).size if path is None else os.stat(path).st_size
        except (BlobMissing, OSError):
            return False
        entry.seen_at = now
        return size == entry.rendered.size


def _unavailable() -> StorageError:
    """No images worker answers. The HTTP status says so, because a retry may succeed."""
    message = "Images cannot be rendered now"
    return StorageError(StorageErrorCode.SLOW_DOWN, message, 503, status=503, headers=_RETRY)
