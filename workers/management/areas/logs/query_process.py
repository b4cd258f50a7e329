"""Runs `query_program.py` in a process for one query: without the environment of the pool, so without its secrets.

A process that crashes, or exceeds its limits of time and memory, is answered as a query that is too large.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import msgspec

from broker.logs.lines import StoredLine
from workers.management.areas.logs.line_texts import line_id, time_text
from workers.management.areas.logs.query_program import LONGEST_S, REJECTED, LogSqlRows, LogSqlTask
from workers.management.interface.errors import ManagementError

_MODULE = "workers.management.areas.logs.query_program"
_ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).resolve().parents[4])}
"""The folder of our packages alone."""
_TIMEOUT_S = LONGEST_S + 12.0
"""Until the process is ended: its start and the table take seconds on a busy machine, the query ends itself."""
_AT_ONCE = 2
_slots = asyncio.Semaphore(_AT_ONCE)


async def query_lines(lines: list[StoredLine], sql: str, most_rows: int, most_bytes: int) -> LogSqlRows:
    """Return the rows of a SELECT over lines. Raises: ManagementError (400 a text that cannot run, 408 too large a query)."""
    task = LogSqlTask(sql, [_row(line) for line in lines], most_rows, most_bytes)
    try:
        async with asyncio.timeout(_TIMEOUT_S), _slots:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-s",
                "-m",
                _MODULE,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=_ENVIRONMENT,
            )
            try:
                output, _ = await process.communicate(msgspec.json.encode(task))
            finally:
                if process.returncode is None:
                    process.kill()
    except TimeoutError:
        raise _too_large() from None
    if process.returncode == REJECTED:
        raise ManagementError(
            400,
            "invalid_log_query",
            f"The query cannot run: {output.decode(errors='replace')}",
            hint="It is one SELECT of SQLite from the table `lines`; logs.sql names its columns.",
        )
    if process.returncode != 0:
        raise _too_large()
    return msgspec.json.decode(output, type=LogSqlRows)


def _too_large() -> ManagementError:
    return ManagementError(
        408,
        "query_too_large",
        "The query took more time or memory than it may have",
        hint="Choose fewer lines by filters and `lines`, or a simpler query.",
    )


def _row(line: StoredLine) -> list[str | int | float | None]:
    """Return a line as a row of the columns of `lines`; what is not set is null."""
    record = line.record
    return [
        line_id(line),
        time_text(line.at_ms),
        line.at_ms,
        record.level,
        record.process,
        record.kind,
        record.area or None,
        record.status or None,
        record.user or None,
        record.function or None,
        record.request_id or None,
        record.duration_ms or None,
        record.text,
        msgspec.json.encode(record.fields).decode(),
    ]
