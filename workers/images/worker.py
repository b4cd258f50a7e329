"""The images pool at work: an `Order` in, a `Rendered` out, bytes from the blob store into the blob store.

    kept already? --> wait for a place --> open the source --> a decoder renders --> result, then what is said about it

- Equal orders at the same time are one render; who asks later finds the result in the blob store.
- The source is opened when a decoder is free for it: what waits in line holds no bytes.
- A render that nobody waits for any more is dropped while it stands in line; once begun, it is finished and kept.
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
from broker.blobs.blob_names import Place
from broker.blobs.errors import BlobMissing, BlobStoreDown, BlobTooLarge
from broker.blobs.store import BlobStore
from broker.observability.observations import Observation
from broker.observability.observe import observe
from broker.requests.serve import RequestBody
from schemas.blobs import Blob
from schemas.errors import Unavailable
from schemas.http import Request, Response
from schemas.images.transform import Order, Rendered
from workers.images.decoders import Decoders
from workers.images.errors import RenderTimedOut, SourceMissing, SourceTooLarge
from workers.images.job import Job, Made
from workers.images.limits import Limits

_LONGEST_ORDER = 64 * 1024
_LONGEST_ABOUT = 4096
_JSON = [("content-type", "application/json; charset=utf-8")]

_decode_order = msgspec.msgpack.Decoder(Order).decode
_decode_about = msgspec.json.Decoder(Rendered).decode


class ImageRendered(Observation, frozen=True):
    """An image was rendered."""

    level: ClassVar[str] = "debug"
    content_type: str
    size: int
    duration_s: float


@dataclass(slots=True, eq=False)
class _Flight:
    """A render that is on its way, and how many wait for it."""

    result: asyncio.Task[Rendered]
    begun: asyncio.Event
    waiting: int = 0

    @property
    def is_begun(self) -> bool:
        """Whether it stands in line no more."""
        return self.begun.is_set()


class ImageWorker:
    """Renders images of a blob store with the decoders of this process."""

    def __init__(self, store: BlobStore, decoders: Decoders, limits: Limits) -> None:
        self._store = store
        self._decoders = decoders
        self._limits = limits
        self._flights: dict[Blob, _Flight] = {}

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer an order with what lies under its key. Raises: ImageError, Unavailable."""
        order = _decode_order(await body.read(_LONGEST_ORDER))
        rendered = await self._once(order)
        return Response(200, list(_JSON), msgspec.json.encode(rendered))

    async def _once(self, order: Order) -> Rendered:
        """Join the render of an equal order, or begin it. Leaving it does not end it for others."""
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

    def _begin(self, key: Blob, order: Order) -> _Flight:
        begun = asyncio.Event()
        flight = self._flights[key] = _Flight(asyncio.create_task(self._fetched(order, begun)), begun)
        flight.result.add_done_callback(lambda task: self._landed(key, flight, task))
        return flight

    def _landed(self, key: Blob, flight: _Flight, task: asyncio.Task[Rendered]) -> None:
        self._forget(key, flight)
        if not task.cancelled():
            task.exception()  # who waited has it; if nobody did, nobody misses it

    def _forget(self, key: Blob, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _fetched(self, order: Order, begun: asyncio.Event) -> Rendered:
        try:
            return await self._kept(order) or await self._rendered(order, begun)
        except BlobStoreDown as error:
            raise Unavailable(f"the blob store does not answer: {error.reason}") from error

    async def _kept(self, order: Order) -> Rendered | None:
        """Give what an earlier render left, if all of it is there."""
        try:
            rendered = _decode_about(await self._store.get_small(_place(order.about), limit=_LONGEST_ABOUT))
            if rendered.is_source:
                return rendered
            found = await self._store.stat(_place(order.result))
        except (BlobMissing, BlobTooLarge, msgspec.MsgspecError):
            return None
        return rendered if found.size == rendered.size else None

    async def _rendered(self, order: Order, begun: asyncio.Event) -> Rendered:
        async with self._decoders.places:
            begun.set()
            began = time.monotonic()
            async with self._opened(order.source) as (source, size):
                with _memory_file() as result:
                    made = await self._decoders.render(Job(order.transform, order.output), source, result)
                    data = _content(result, made.size)
        rendered = _about(made, size)
        await self._keep(order, rendered, data)
        observe(ImageRendered(rendered.content_type, rendered.size, time.monotonic() - began))
        return rendered

    async def _keep(self, order: Order, rendered: Rendered, data: bytes) -> None:
        """Write the result and what is said about it, at the same time: each alone counts for nothing."""
        blobs = [(order.about, msgspec.json.encode(rendered))]
        if not rendered.is_source:
            blobs.append((order.result, data))
        await asyncio.gather(*(self._store.put_small(_place(blob), content) for blob, content in blobs))

    @contextlib.asynccontextmanager
    async def _opened(self, source: Blob) -> AsyncIterator[tuple[int, int]]:
        """Open a source as a file, and give its size. What lies on no local disk is read into memory first."""
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


def _place(blob: Blob) -> Place:
    return blob_names.transform(blob.version, blob.transform)


def _about(made: Made, source_size: int) -> Rendered:
    size = source_size if made.is_source else made.size
    return Rendered(made.content_type, size, made.width, made.height, made.is_source)


@contextlib.contextmanager
def _memory_file() -> Iterator[int]:
    """Give an open file without a name, in memory where the system has such files."""
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
    """Read a file's first bytes. Raises: OSError if there are fewer."""
    data = os.pread(file, size, 0)
    if len(data) != size:
        raise OSError("a result is shorter than its decoder says")
    return data
