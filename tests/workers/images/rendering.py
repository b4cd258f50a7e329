"""Rendering through real decoder processes, as tests need it."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable

from schemas.images.transform import Output, Transform
from workers.images.decoder_messages import DecoderJob, RenderedImage
from workers.images.decoder_processes import DecoderProcesses
from workers.images.limits import DecoderLimits

LIMITS = DecoderLimits()
SMALL = Transform(20, 20)
_LONGEST_WAIT_S = 60


@contextlib.asynccontextmanager
async def running(
    limits: DecoderLimits = LIMITS, *, processes: int = 1, idle: float = 60
) -> AsyncIterator[DecoderProcesses]:
    """Give decoders; their processes are gone after the block."""
    decoders = DecoderProcesses(limits, processes=processes, idle_timeout=idle)
    try:
        yield decoders
    finally:
        await decoders.close()


async def rendered(
    decoders: DecoderProcesses, data: bytes, transform: Transform = SMALL, output: Output = "png"
) -> tuple[RenderedImage, bytes]:  # fmt: skip
    """Render a file; give what the decoder says and what it has written."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as result:
        source.write(data)
        source.flush()
        async with decoders.places:
            made = await decoders.render(DecoderJob(transform, output), source.fileno(), result.fileno())
        result.seek(0)
        return made, result.read()


async def until(is_so: Callable[[], object]) -> None:
    """Wait for something to become so."""
    async with asyncio.timeout(_LONGEST_WAIT_S):
        while not is_so():
            await asyncio.sleep(0.01)
