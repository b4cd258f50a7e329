"""The gateway of a test: the edges as `services/app.py` starts them, on a real socket, in this process."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from broker.processes.lifecycle import ManagedProcess
from schemas.keys.secret import Secret
from schemas.settings.certificates import Certificates
from schemas.settings.management import Management
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.storage import Storage
from schemas.settings.tree import Api, Auth, Broker, Gateway, Graphql, Pools, Settings
from services.app import serve_edges
from services.supervisor.api_keys import keys_of
from tests.broker.server import free_port
from tests.services.gateway.wire import Reply, Wire, connected, head_of

KEYS = keys_of(Auth())
_ids = itertools.count()

Pairs = Mapping[str, str] | Iterable[tuple[str, str]]


class ObservedProcess(ManagedProcess):
    """A process that tells the test when it is ready."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("edges", settings)
        self.is_up = asyncio.Event()

    def ready(self) -> None:
        super().ready()
        self.is_up.set()


@dataclass(slots=True)
class RunningGateway:
    """A running gateway."""

    port: int
    process: ObservedProcess
    running: "asyncio.Task[int]"

    def connect(self) -> AbstractAsyncContextManager[Wire]:
        return connected(self.port)

    async def ask(
        self,
        method: str,
        target: str,
        headers: Pairs = (),
        body: bytes = b"",
        *,
        key: str | None = KEYS.anon_key,
    ) -> Reply:
        """Send one request on a connection of its own; the key and the length of the body are added."""
        pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
        if key is not None:
            pairs.append(("apikey", key))
        if body:
            pairs.append(("Content-Length", str(len(body))))
        async with self.connect() as wire:
            await wire.send(head_of(method, target, pairs) + body)
            return await wire.reply(method)

    async def ended(self) -> int:
        """Wait for the end of the process that was told to stop; give its exit code."""
        done, _ = await asyncio.wait({self.running}, timeout=60)
        assert done, "the gateway did not end"
        return self.running.result()

    async def send(self, raw: bytes) -> Reply:
        """Send bytes as they are."""
        async with self.connect() as wire:
            await wire.send(raw)
            return await wire.reply()


def start(process: ObservedProcess) -> "asyncio.Task[int]":
    """Run the edges in a process of this process; the task gives the exit code."""

    async def main(_: ManagedProcess) -> None:
        await serve_edges(process, process.settings, ["gateway"])

    return asyncio.ensure_future(process.run(main))


@asynccontextmanager
async def running_gateway(
    nats_url: str,
    gateway: Gateway | None = None,
    *,
    api: Mapping[str, object] | None = None,
    auth: Mapping[str, object] | None = None,
    drain_timeout: float = 10.0,
    certificates: Certificates | None = None,
    realtime: RealtimeSettings | None = None,
    storage: Storage | None = None,
    management: Management | None = None,
) -> AsyncIterator[RunningGateway]:
    """Start a gateway on a free port, and drain it at the end."""
    settings = Settings(
        api=Api(**{"port": free_port(), **(api or {})}),  # type: ignore[arg-type]  # options of a test
        broker=Broker(url=Secret(nats_url)),
        auth=Auth(**{"enabled": False, **(auth or {})}),  # type: ignore[arg-type]  # options of a test
        storage=storage or Storage(enabled=False),
        realtime=realtime or RealtimeSettings(enabled=False),
        certificates=certificates or Certificates(),
        graphql=Graphql(enabled=False),
        management=management or Management(),
        gateway=gateway or Gateway(),
        pools=Pools(drain_timeout=drain_timeout),
    )
    process = ObservedProcess(settings)
    running = start(process)
    up = asyncio.ensure_future(process.is_up.wait())
    await asyncio.wait({running, up}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    up.cancel()
    assert process.is_up.is_set(), "the gateway did not start"
    try:
        yield RunningGateway(settings.api.port, process, running)
    finally:
        process.stop("the test is over")
        await running


def fresh_id() -> str:
    """Return a request id that no other test uses."""
    return f"test-{next(_ids)}"
