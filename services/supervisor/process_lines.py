"""The lines that a child process writes, while it runs."""

import asyncio
from collections.abc import AsyncIterator

_READ, _LONGEST_LINE = 64 * 1024, 1000


async def lines_of(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    """Yield the beginnings of lines of any length; iterating the reader ends with an error at one of 64 KiB."""
    rest = b""
    while piece := await reader.read(_READ):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").strip()[:_LONGEST_LINE]
        rest = rest[: 4 * _LONGEST_LINE]
    if rest:
        yield rest.decode(errors="replace").strip()[:_LONGEST_LINE]
