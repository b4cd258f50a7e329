"""Runs the process of an order or of a question, and hands challenges over."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable

import msgspec

from broker.observability.observe import observe
from services.certificates.model import (
    NOT_REMOVED,
    AdviceRequest,
    AuthorityTask,
    ChallengeAnswer,
    ChallengesReady,
    OrderDone,
    OrderFailed,
    OrderMessage,
    OrderRequest,
    RenewalAdvice,
)
from services.certificates.observations import DnsRecordsRemain

_ENVIRONMENT = (
    "PATH",
    "PYTHONPATH",
    "HOME",
    "LANG",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
)
"""What the process gets of the edge's environment: no password of the platform."""
_SPARE_S = 60.0
_LEAVE_S = 5.0
"""Seconds in which it removes records in DNS when it has to end."""
_ADVICE_S = 120.0
_LONGEST_LINE = 4 * 1024 * 1024

_decoder: msgspec.json.Decoder[OrderMessage] = msgspec.json.Decoder(OrderMessage)

Present = Callable[[list[ChallengeAnswer]], Awaitable[None]]
"""Makes the answers of challenges available to every edge."""


async def run_order(request: OrderRequest, present: Present) -> OrderDone | OrderFailed:
    """Carry out an order in a process of its own. Raises: what `present` raises."""
    message = await _run(request, longest_s(request), present)
    return (
        message if isinstance(message, OrderDone | OrderFailed) else OrderFailed("the order gave no result")
    )


async def ask_advice(request: AdviceRequest) -> RenewalAdvice | OrderFailed:
    """Ask the authority in a process of its own when to renew; `OrderFailed` if that process failed."""
    message = await _run(request, _ADVICE_S, _no_challenges)
    return message if isinstance(message, RenewalAdvice | OrderFailed) else OrderFailed("no advice came")


def longest_s(request: OrderRequest) -> float:
    """Return the longest time of an order: the authority's for each kind of challenge, and that of writing records in DNS."""
    method = request.dns
    by_program = 2 * method.hook_timeout_s * len(request.domains) if method.hook else _SPARE_S
    return (request.limit_s + method.wait_s + by_program) * max(1, len(request.kinds)) + _SPARE_S


async def _no_challenges(answers: list[ChallengeAnswer]) -> None:
    del answers


async def _run(request: AuthorityTask, limit_s: float, present: Present) -> OrderMessage:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "services.certificates.order_process",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )  # fmt: skip
    try:
        async with asyncio.timeout(limit_s):
            return await _converse(process, request, present)
    except TimeoutError:
        return OrderFailed("the order did not end in time")
    finally:
        await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the process, after a moment in which it removes its records in DNS."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    ending = asyncio.ensure_future(process.communicate())
    try:
        await asyncio.wait([ending], timeout=_LEAVE_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        _, remarks = await ending
        lines = [line for line in remarks.decode(errors="replace").splitlines() if NOT_REMOVED in line]
        if lines:
            observe(DnsRecordsRemain("; ".join(lines)))


async def _converse(
    process: asyncio.subprocess.Process, request: AuthorityTask, present: Present
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
