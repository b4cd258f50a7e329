"""Log lines on their way from a process to the store, and as the store holds them.

A process sends batches (`LogBatch`, MessagePack, compressed) to the stream LOGS. A line names its process, level and text, and
as far as they are known the area, status, user, function and request id, by which it can be found; the rest are `fields`.
"""

from typing import Any

from msgspec import Raw, Struct

LEVELS = ("debug", "info", "warning", "error")
"""Levels of lines, the least first."""
MOST_LINES = 1000
"""Lines of one batch."""
LONGEST_LINE = 16 * 1024
"""Bytes of one encoded line; longer texts are cut before it is sent."""


class LogRecord(Struct, frozen=True, array_like=True, gc=False):
    """One line. `at_ms`: epoch milliseconds."""

    at_ms: int
    level: str
    process: str
    kind: str
    """Class of the observation, name of a library's logger, or event of a function."""
    text: str
    area: str = ""
    """Interface or pool that the line is about."""
    status: int = 0
    user: str = ""
    """Subject of the access token."""
    function: str = ""
    request_id: str = ""
    duration_ms: float = 0.0
    fields: dict[str, Any] = {}


class LogBatch(Struct, frozen=True, array_like=True):
    """Lines of one process in their order. `run` is random for each process; `number` counts its batches from 1."""

    run: str
    number: int
    member: str
    """Host and process id."""
    dropped: int
    """Lines that were dropped since the last batch, because the buffer was full."""
    lines: list[Raw]
    """Encoded `LogRecord`s."""
