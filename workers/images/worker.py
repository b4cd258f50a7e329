"""The images worker: `RenderOrder` in, `Rendered` out; the bytes are read from and written to the blob store.

    cached? --> wait for a decoder --> open the source --> render --> store the result, then its description

- Equal orders at the same time share one render; later ones find the result in the blob store.
- The source is opened when a decoder is free: a waiting order holds no bytes.
- An order that waits is dropped when its last client leaves; a started render is finished and cached.
"""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from broker.blobs import blob_names
from broker.blobs.blob_names import BlobPath
from broker.blobs.errors import BlobMissing, BlobStoreDown, BlobTooLarge
from broker.blobs.store import BlobStore
from broker.observability.observations import Observation
from broker.observability.observe import observe
from broker.requests.handler import RequestBody
from schemas.blobs import BlobReference
from schemas.errors import Unavailable
from schemas.http import Request, Response
from schemas.images.transform import Rendered, RenderOrder
from workers.images.decoder_messages import DecoderJob, RenderedImage
from workers.images.decoder_processes import DecoderProcesses
from workers.images.errors import RenderTimedOut, SourceMissing, SourceTooLarge
from workers.images.limits import DecoderLimits

_LONGEST_ORDER = 64 * 1024
_LONGEST_ABOUT = 4096
_JSON = [("content-type", "application/json; charset=utf-8")]

_decode_order = msgspec.msgpack.Decoder(RenderOrder).decode
_decode_about = msgspec.json.Decoder(Rendered).decode


class ImageRendered(Observation, frozen=True):
    """An image was rendered."""

    level: ClassVar[str] = "debug"
    content_type: str
    size: int
    duration_s: float


@dataclass(slots=True, eq=False)
class _Flight:
    """A render in progress, and how many clients wait for it."""

    result: asyncio.Task[Rendered]
    begun: asyncio.Event
    waiting: int = 0

    @property
    def is_begun(self) -> bool:
        """Whether a decoder has started it."""
        return self.begun.is_set()


class ImageWorker:
    """Renders images of a blob store with the decoder processes of this worker."""

    def __init__(self, store: BlobStore, decoders: DecoderProcesses, limits: DecoderLimits) -> None:
        self._store = store
        self._decoders = decoders
        self._limits = limits
        self._flights: dict[BlobReference, _Flight] = {}

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Handle an order; return what is stored under its key. Raises: ImageError, Unavailable."""
        order = _decode_order(await body.read(_LONGEST_ORDER))
        rendered = await self._once(order)
        return Response(200, list(_JSON), msgspec.json.encode(rendered))

    async def _once(self, order: RenderOrder) -> Rendered:
        """Join the render of an equal order, or start one. A client that leaves does not cancel it for the others."""
        key = order.result
        flight = self._flights.get(key) or self._begin(key, order)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.result)
        finally:
            flight.waiting -= 1
            if not (flight.waiting or flight.is_begun or flight.result.done()):
                flight.result.cancel()
                self._forget(key, flight)

    def _begin(self, key: BlobReference, order: RenderOrder) -> _Flight:
        begun = asyncio.Event()
        flight = self._flights[key] = _Flight(asyncio.create_task(self._fetched(order, begun)), begun)
        flight.result.add_done_callback(lambda task: self._landed(key, flight, task))
        return flight

    def _landed(self, key: BlobReference, flight: _Flight, task: asyncio.Task[Rendered]) -> None:
        self._forget(key, flight)
        if not task.cancelled():
            task.exception()  # retrieve the error: waiting clients have received it

    def _forget(self, key: BlobReference, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _fetched(self, order: RenderOrder, begun: asyncio.Event) -> Rendered:
        try:
            return await self._kept(order) or await self._rendered(order, begun)
        except BlobStoreDown as error:
            raise Unavailable(f"the blob store does not answer: {error.reason}") from error

    async def _kept(self, order: RenderOrder) -> Rendered | None:
        """Return the rendition of an earlier render if it is complete."""
        try:
            rendered = _decode_about(await self._store.get_small(_place(order.about), limit=_LONGEST_ABOUT))
            if rendered.is_source:
                return rendered
            stat = await self._store.stat(_place(order.result))
        except (BlobMissing, BlobTooLarge, msgspec.MsgspecError):
            return None
        return rendered if stat.size == rendered.size else None

    async def _rendered(self, order: RenderOrder, begun: asyncio.Event) -> Rendered:
        async with self._decoders.places:
            begun.set()
            began = time.monotonic()
            async with self._opened(order.source) as (source, size):
                with _memory_file() as result:
                    image = await self._decoders.render(
                        DecoderJob(order.transform, order.output), source, result
                    )
                    data = _content(result, image.size)
        rendered = _about(image, size)
        await self._keep(order, rendered, data)
        observe(ImageRendered(rendered.content_type, rendered.size, time.monotonic() - began))
        return rendered

    async def _keep(self, order: RenderOrder, rendered: Rendered, data: bytes) -> None:
        """Store the result and its description concurrently; one without the other is ignored."""
        blobs = [(order.about, msgspec.json.encode(rendered))]
        if not rendered.is_source:
            blobs.append((order.result, data))
        await asyncio.gather(*(self._store.put_small(_place(blob), content) for blob, content in blobs))

    @contextlib.asynccontextmanager
    async def _opened(self, source: BlobReference) -> AsyncIterator[tuple[int, int]]:
        """Open a source as a file and return its size. A blob that is not on a local disk is first read into memory."""
        place = blob_names.blob(source.bucket, source.version)
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._limits.timeout):
                    reading = await stack.enter_async_context(self._store.read(place))
                    if reading.size > self._limits.source_bytes:
                        raise SourceTooLarge
                    if reading.file is not None:
                        file = reading.file.fileno()
                    else:
                        file = stack.enter_context(_memory_file())
                        async for chunk in reading.chunks:
                            os.write(file, chunk)
            except BlobMissing:
                raise SourceMissing from None
            except TimeoutError:
                raise RenderTimedOut from None
            yield file, reading.size


def _place(blob: BlobReference) -> BlobPath:
    return blob_names.transform(blob.version, blob.transform)


def _about(image: RenderedImage, source_size: int) -> Rendered:
    size = source_size if image.is_source else image.size
    return Rendered(image.content_type, size, image.width, image.height, image.is_source)


@contextlib.contextmanager
def _memory_file() -> Iterator[int]:
    """Yield an open file without a name, in memory if the system supports memfd."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("image")
    else:
        with tempfile.TemporaryFile() as named:
            file = os.dup(named.fileno())
    try:
        yield file
    finally:
        os.close(file)


def _content(file: int, size: int) -> bytes:
    """Read the first bytes of a file. Raises: OSError if there are fewer."""
    data = os.pread(file, size, 0)
    if len(data) != size:
        raise OSError("a result is shorter than its decoder says")
    return data
