"""Deployments, measured: from the bundle's first byte to the first answer of the new version, and to a second worker.

python -m tests.bench.functions_deploy
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tests.broker.server import running_server
from tests.workers.functions.bundling import bundle, hello
from tests.workers.functions.deployments.test_deployments import Worker, worker

_TIMES = 20
_CLIENT = """import { createClient } from "https://esm.sh/@supabase/supabase-js@2"; const n = %d;
Deno.serve(() => new Response(typeof createClient + n));"""


async def bench() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            running_server() as nats,
            worker(nats, Path(folder)) as one,
            worker(nats, Path(folder)) as other,
        ):
            for name, made in (
                ("hello", lambda n: hello("hello", str(n))),
                ("with supabase-js", lambda n: bundle("client", {"functions/client/index.ts": _CLIENT % n})),
            ):
                deploys, lives, everywhere = [], [], []
                function = "hello" if name == "hello" else "client"
                for number in range(_TIMES):
                    began = time.perf_counter()
                    reply = await one.deploy(function, made(number))
                    assert reply.status == 200, reply.body
                    deploys.append(time.perf_counter() - began)
                    while not (await one.answer(f"/{function}")).endswith(str(number)):
                        pass  # the other worker answered, with the version before
                    lives.append(time.perf_counter() - began)
                    while any(_number(each, function) != number + 1 for each in (one, other)):
                        await asyncio.sleep(0.001)
                    everywhere.append(time.perf_counter() - began)
                for what, took in (
                    ("deploy", deploys[1:]),
                    ("first answer", lives[1:]),
                    ("both workers", everywhere[1:]),
                ):
                    print(
                        f"{name}: {what}, p50 / worst: {statistics.median(took) * 1000:.0f} / {max(took) * 1000:.0f} ms"
                    )
                print(f"{name}: first deployment: {deploys[0] * 1000:.0f} ms")


def _number(each: Worker, function: str) -> int:
    laid = each.deployments.unpacked.get(function)
    return laid.number if laid else 0


if __name__ == "__main__":
    asyncio.run(bench())
