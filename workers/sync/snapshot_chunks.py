"""The rows of a snapshot -> the chunks of a shape's first answers, while the rows arrive."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from schemas.sync import SEPARATOR
from workers.database.transactions.model import Statement
from workers.sync.copied_rows import CopiedRowFormat
from workers.sync.messages import snapshot_end
from workers.sync.reading import CallerSnapshot, gathered

_PAGE = 128 * 1024
"""Bytes of rows that become messages at once: a thread has Python's lock for less than a millisecond."""


async def chunks_of(
    snapshot: CallerSnapshot, copy: Statement, rows: CopiedRowFormat, chunk_size: int
) -> AsyncGenerator[tuple[list[bytes], bytes]]:
    """Yield the joined messages of each chunk, and the message that ends the last one.

    A chunk ends with the first message by which it has `chunk_size` bytes. Raises: as `read_by_keys`.
    """
    chunk: list[bytes] = []
    size = 0
    async with aclosing(gathered(snapshot.copied(copy), _PAGE)) as pages:
        async for page in pages:
            messages, at = await asyncio.to_thread(rows.messages, page), 0
            while size + len(messages) - at >= chunk_size:
                cut = messages.find(SEPARATOR, max(at, at + chunk_size - size))
                if cut < 0:
                    break
                yield [*chunk, messages[at:cut]], b""
                chunk, size, at = [], 0, cut + len(SEPARATOR)
            chunk.append(messages[at:] if at else messages)
            size += len(chunk[-1])
    yield chunk, snapshot_end(snapshot.point.text)
