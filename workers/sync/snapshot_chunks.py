"""The rows of a snapshot -> the chunks of a shape's first answers, while the rows arrive."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from schemas.sync import SEPARATOR
from workers.sync.copied_rows import CopiedRowFormat
from workers.sync.definition import ResolvedShape
from workers.sync.messages import snapshot_end
from workers.sync.reading import CallerSnapshot, gathered

_PAGE = 128 * 1024
"""Bytes of rows that become messages at once: a thread has Python's lock for less than a millisecond."""


async def chunks_of(
    snapshot: CallerSnapshot, shape: ResolvedShape, chunk_size: int
) -> AsyncGenerator[tuple[list[bytes], bytes]]:
    """Yield the joined messages of each chunk, and the message that ends the last one.

    A chunk ends with the first message by which it has `chunk_size` bytes. Raises: as `read_by_keys`.
    """
    chunk: list[bytes] = []
    size = 0
    pages = _tagged_pages(snapshot, shape) if shape.definition.has_tags else _pages(snapshot, shape)
    async with aclosing(pages):
        async for messages in pages:
            at = 0
            while size + len(messages) - at >= chunk_size:
                cut = messages.find(SEPARATOR, max(at, at + chunk_size - size))
                if cut < 0:
                    break
                yield [*chunk, messages[at:cut]], b""
                chunk, size, at = [], 0, cut + len(SEPARATOR)
            chunk.append(messages[at:] if at else messages)
            size += len(chunk[-1])
    yield chunk, snapshot_end(snapshot.point.text)


async def _pages(snapshot: CallerSnapshot, shape: ResolvedShape) -> AsyncGenerator[bytes]:
    """Yield joined messages of rows as they are copied."""
    form, names = shape.form, [column.name for column in shape.columns]
    rows = CopiedRowFormat(form.relation, len(shape.table.key), names)
    async with aclosing(gathered(snapshot.copied(shape.sql.copy()), _PAGE)) as pages:
        async for page in pages:
            yield await asyncio.to_thread(rows.messages, page)


async def _tagged_pages(snapshot: CallerSnapshot, shape: ResolvedShape) -> AsyncGenerator[bytes]:
    """Yield joined messages of rows with their tags."""
    async for messages in snapshot.tagged_pages(*shape.sql.with_rows()):
        yield SEPARATOR.join(messages)
