"""A functions worker for tests and benchmarks: a project's folder, the pool's parts in this process, and a NATS connection."""

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls, PoolReply
from broker.requests.serve import serve
from schemas.caller import Caller, ServiceCaller
from schemas.functions.log_events import LogLine
from schemas.http import Headers, Request
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from schemas.settings.tree import Settings
from workers.functions.catalog.catalog import FunctionCatalog
from workers.functions.host.denied_hosts import METADATA, DeniedHosts
from workers.functions.host.host import close_host, open_host
from workers.functions.host.loopback import own_ports
from workers.functions.logs.journal import Journal
from workers.functions.processes.environment import database_url, keys_of, platform_variables
from workers.functions.processes.process_sandbox import ProcessContext
from workers.functions.worker import FunctionsWorker

LINES = msgspec.msgpack.Decoder(LogLine)
_HOST = ("host", "api.example:8000")


@dataclass(slots=True)
class Reply:
    """A response that was read completely."""

    status: int
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def header(self, name: str) -> str | None:
        return next((text for key, text in self.headers if key == name), None)


@dataclass(slots=True)
class Site:
    """A running worker and its project."""

    root: Path
    worker: FunctionsWorker
    catalog: FunctionCatalog
    calls: Calls
    connection: NatsConnection
    lines: list[LogLine] = field(default_factory=list)

    def write(self, path: str, text: str) -> None:
        """Write a file below the folder of the functions."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)

    async def add(self, name: str, source: str) -> None:
        """Write a function and make the catalog read it."""
        self.write(f"{name}/index.ts", source)
        await self.catalog.look()

    async def open(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | Headers = (),  # type: ignore[assignment]  # empty of either kind
        body: bytes = b"",
        pieces: AsyncIterator[bytes] | None = None,
        caller: Caller = ServiceCaller(),  # noqa: B008 - frozen
        budget_ms: int = 30_000,
        id: str = "test",
    ) -> PoolReply:
        """Send a request as the gateway does."""
        listed = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        bare, _, query = path.partition("?")
        request = Request(
            id=id,
            method=method,
            path=bare,
            query=query,
            headers=[_HOST, ("x-forwarded-proto", "https"), *listed],
            caller=caller,
            budget_ms=budget_ms,
            body=body,
        )
        return await self.calls.call(subjects.FUNCTIONS, request, body=pieces)

    async def ask(self, path: str, **options: Any) -> Reply:
        """Send a request and read the whole response."""
        answer = await self.open(path, **options)
        response = answer.response
        body = response.body
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        return Reply(response.status, response.headers, body)

    def said(self, function: str, event: str = "log") -> list[str]:
        """Return what a function has printed so far."""
        return [line.text for line in self.lines if line.function == function and line.event == event]


@contextlib.asynccontextmanager
async def site(
    url: str,
    *,
    runtime: EdgeRuntime | None = None,
    functions: Mapping[str, FunctionSettings] | None = None,
    settings: Settings | None = None,
    inner: DeniedHosts | None = None,
) -> AsyncIterator[Site]:
    """Start a worker over a new project, on a broker of this URL."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-functions-"))
    root = folder / "supabase" / "functions"
    root.mkdir(parents=True)
    runtime = runtime or EdgeRuntime(watch=0)
    whole = settings or Settings()
    connection = await NatsConnection.open(url, name="functions-test")
    places = open_host(folder / "data")
    whole = msgspec.structs.replace(whole, edge_runtime=runtime)
    places = replace(places, loopback=own_ports(whole, database_url(whole), {}))
    context = ProcessContext(
        places,
        platform_variables(whole, [], {}),
        Journal(connection, runtime.log_lines),
        inner or DeniedHosts(METADATA, ()),
    )
    catalog = FunctionCatalog(root, functions or {}, runtime)
    worker = FunctionsWorker(catalog, keys_of(whole), runtime, context)
    await catalog.start()
    worker.start()
    serving = await serve(connection, subjects.FUNCTIONS, worker.answer, concurrency=1024, queue=1024)
    one = Site(root, worker, catalog, Calls(connection), connection)
    connection.subscribe("logs.functions.>", lambda message: one.lines.append(LINES.decode(message.payload)))
    try:
        yield one
    finally:
        await serving.stop()
        await catalog.stop()
        await worker.close()
        await connection.close()
        close_host(places)
        shutil.rmtree(places.home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
