"""Runs the process of an order, and hands its challenges over."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable

import msgspec

from services.certificates.model import (
    ChallengeAnswer,
    ChallengesReady,
    OrderFailed,
    OrderMessage,
    OrderRequest,
)

_ENVIRONMENT = (
    "PATH",
    "PYTHONPATH",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
)
"""What the process gets of the edge's environment: no password of the platform."""
_SPARE_S = 60.0
_LONGEST_LINE = 4 * 1024 * 1024

_decoder: msgspec.json.Decoder[OrderMessage] = msgspec.json.Decoder(OrderMessage)

Present = Callable[[list[ChallengeAnswer]], Awaitable[None]]
"""Makes the answers of challenges available to every edge."""


async def run_order(request: OrderRequest, present: Present) -> OrderMessage:
    """Carry out an order in a process of its own; return `OrderDone` or `OrderFailed`. Raises: what `present` raises."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "services.certificates.order_process",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )  # fmt: skip
    try:
        async with asyncio.timeout(request.limit_s * max(1, len(request.kinds)) + _SPARE_S):
            return await _converse(process, request, present)
    except TimeoutError:
        return OrderFailed("the order did not end in time")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def _converse(
    process: asyncio.subprocess.Process, request: OrderRequest, present: Present
) -> OrderMessage:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        await process.stdin.drain()
    async for line in process.stdout:
        message = _decoder.decode(line)
        if not isinstance(message, ChallengesReady):
            return message
        await present(message.answers)
        process.stdin.write(b"\n")
    lines = (await process.stderr.read()).decode(errors="replace").strip().splitlines()
    return OrderFailed(f"the process of the order ended: {lines[-1] if lines else 'without a reason'}")
