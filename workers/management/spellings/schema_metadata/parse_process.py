"""Runs `parse_tree.py` in a process for one request: without the environment of the pool, so without its secrets.

A process that crashes, or exceeds its limits of time and memory, is answered as input that is too deep or malformed.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import msgspec

from workers.management.spellings.schema_metadata.errors import MetadataError, bad_request

MAX_INPUT_BYTES = 256 * 1024
"""Longest SQL that is parsed. A tree is some fifty times as long, so longer trees are read than written."""
_MODULE = "workers.management.spellings.schema_metadata.parse_tree"
_ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).resolve().parents[4])}
"""The folder of our packages alone."""
REJECTED = 3
"""Exit code with which the output is the message of an error."""
_TIMEOUT_S = 20.0
_AT_ONCE = 2
_slots = asyncio.Semaphore(_AT_ONCE)


async def parse(text: str) -> bytes:
    """Return the tree of SQL as JSON. Raises: MetadataError."""
    data = text.encode(errors="replace")
    if len(data) > MAX_INPUT_BYTES:
        raise bad_request(f"query is longer than {MAX_INPUT_BYTES} bytes")
    return await _run("parse", data, "query is nested too deeply")


async def deparse(tree: object) -> str:
    """Return the SQL of a tree. Raises: MetadataError."""
    if not isinstance(tree, dict):
        raise bad_request("ast must be a parse tree: an object with `version` and `stmts`")
    output = await _run("deparse", msgspec.json.encode(tree), "ast is not a parse tree")
    return output.decode(errors="replace")


async def _run(step: str, data: bytes, crashed: str) -> bytes:
    try:
        async with asyncio.timeout(_TIMEOUT_S), _slots:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-s",
                "-m",
                _MODULE,
                step,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=_ENVIRONMENT,
            )
            try:
                output, _ = await process.communicate(data)
            finally:
                if process.returncode is None:
                    process.kill()
    except TimeoutError:
        raise MetadataError(408, "Query read timeout") from None
    if process.returncode == REJECTED:
        raise bad_request(output.decode(errors="replace"))
    if process.returncode != 0:
        raise bad_request(crashed)
    return output
