"""Request handler of the functions pool: takes a `Request`, returns the response of the function.

    name --> look up the function --> check the token, unless OPTIONS --> choose a process --> relay

The order is that of docs/reference/functions.md, section 1: functions answer CORS preflights themselves, so OPTIONS needs
no token.

A function has up to `max_instances` processes (`processes/version_processes.py`). Each request takes a share of one process
and gives it back when its response was read or dropped. Two timers bound a request: `timeout_s` until the head of the
response, and `wall_s` (`websocket_s` after 101) from its start to its last byte. A request is sent at most once: it goes to
a second process only when the first one did not accept the connection (`ProcessUnreachable`).

A task of the worker samples the processes (`processes/limits.py`): every 100 ms those that work, once a second all of them.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from urllib.parse import quote

from broker.observability.tracing import STATE
from broker.requests.body import BodyBroken
from broker.requests.handler import RequestBody, StreamedResponse
from schemas.functions.errors import FunctionNameMissing, FunctionNotFound, FunctionTimeout, SandboxMissing
from schemas.http import Request, Response, header
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from schemas.settings.functions import EdgeRuntime
from workers.functions.calls import FunctionCallCounts
from workers.functions.catalog.catalog import FunctionCatalog
from workers.functions.catalog.registry import NAME, HostedFunction
from workers.functions.deployments.endpoints import PREFIX as ADMIN
from workers.functions.deployments.endpoints import AdminEndpoints
from workers.functions.processes import http_wire
from workers.functions.processes.environment import FunctionKeys
from workers.functions.processes.limits import (
    REST_SAMPLE_S,
    SAMPLE_S,
    EffectiveLimits,
    Share,
    limits_of,
    sample,
)
from workers.functions.processes.process import Instance
from workers.functions.processes.process_sandbox import ProcessContext
from workers.functions.processes.relay import ProcessRequest, ProcessUnreachable, RelayedRequest
from workers.functions.processes.version_processes import VersionProcesses, VersionReplaced
from workers.functions.tokens import check_token, headers_for_function

_HEALTH = "/_internal/health"
_JSON = ("content-type", "application/json")
_UNSAFE = re.compile(r"[^\x21-\x7e]")
_LAST_GRACE_S = 5.0
_EXIT_WAIT_S = 0.2
"""Seconds that a response that breaks off waits for the exit of its process; if only the response broke, the process lives on."""
_SILENT_S = 30.0
"""A process that sent no byte of any response while a request waited this long without success gets no further requests."""


class FunctionsWorker:
    """Answers requests for the functions of a catalog."""

    def __init__(
        self, catalog: FunctionCatalog, keys: FunctionKeys, runtime: EdgeRuntime, context: ProcessContext
    ) -> None:
        self._catalog = catalog
        self._keys = keys
        self._runtime = runtime
        self._context = context
        self._may_run = context.host.features.is_enough or runtime.unsafe_without_sandbox
        self._versions: dict[str, VersionProcesses] = {}
        self._draining: dict[asyncio.Task[None], VersionProcesses] = {}
        self._sampling: asyncio.Task[None] | None = None
        self._calls = FunctionCallCounts()
        self.admin: AdminEndpoints | None = None
        catalog.on_change = self._on_change

    @property
    def instances(self) -> list[Instance]:
        """All processes that accept requests."""
        return [instance for version in self._versions.values() for instance in version.instances]

    def start(self) -> None:
        """Start the task that samples the processes."""
        self._sampling = asyncio.get_running_loop().create_task(self._sample_processes())

    async def close(self) -> None:
        """Stop all processes; each has `_LAST_GRACE_S` to finish its requests."""
        self._calls.close()
        if self._sampling is not None:
            self._sampling.cancel()
            await asyncio.wait([self._sampling])
        versions = [version.drain("early_drop", _LAST_GRACE_S) for version in self._versions.values()]
        leaving = (instance.retire("early_drop", _LAST_GRACE_S) for instance in self._leaving())
        await asyncio.gather(*versions, *leaving)

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Raises: FunctionError."""
        if request.path == _HEALTH:
            return Response(200, [_JSON], b'{"message":"ok"}')
        if request.path.startswith(ADMIN) and self.admin is not None:
            return await self.admin.answer(request, body, lambda: self._catalog.functions)
        name = request.path[1:].partition("/")[0]
        if not name:
            raise FunctionNameMissing
        function = await self._catalog.get(name) if NAME.fullmatch(name) else None
        if function is None:
            raise FunctionNotFound
        if not self._may_run:
            raise SandboxMissing
        if request.method != "OPTIONS" and function.settings.verify_jwt:
            check_token(request)
        status = 500
        try:
            response = await self._run(function, request, body)
            status = response.status
            return response
        finally:
            self._calls.note(name, status)

    async def _run(
        self, function: HostedFunction, request: Request, body: RequestBody
    ) -> Response | StreamedResponse:
        started_at = time.monotonic()
        limits = limits_of(function.settings, self._runtime)
        message = self._message(request, body)
        try:
            async with asyncio.timeout(limits.timeout_s):
                version, instance, share, relayed = await self._send(function, message)
        except TimeoutError:
            raise FunctionTimeout from None
        stream = _StreamedResponse(version, instance, share, relayed, started_at, limits)
        response_head = relayed.head
        whole = relayed.whole()
        if whole is not None:
            await stream.aclose()
            return Response(response_head.status, response_head.headers, whole)
        return StreamedResponse(response_head.status, response_head.headers, stream, size=response_head.size)

    def _message(self, request: Request, body: RequestBody) -> ProcessRequest:
        """Return the HTTP request for the process."""
        headers = [field for field in headers_for_function(request, self._keys) if field[0] != "x-request-id"]
        headers.append(("x-request-id", request.id))
        if STATE.tracing is not None and (trace := STATE.tracing.headers()):
            headers = [field for field in headers if field[0] not in ("traceparent", "tracestate")] + trace
        upgrade = header(request.headers, "upgrade") or ""
        length = header(request.headers, "content-length")
        size: int | None
        content: bytes | AsyncIterator[bytes]
        if request.stream is None:
            content = request.body
            size = len(content) if content or length is not None else None
        else:
            content = aiter(body)
            announced = parse_whole_number(length or "", most=LARGEST_SIZE)
            size = request.stream.size if announced is None else announced
            if upgrade:
                size = None
        target = _UNSAFE.sub(lambda unsafe: quote(unsafe[0]), request.path)
        if request.query:
            target += "?" + _UNSAFE.sub(lambda unsafe: quote(unsafe[0]), request.query)
        host = header(headers, "x-forwarded-host") or header(headers, "host") or "localhost"
        head = http_wire.request_head(request.method, target, host, headers, size, upgrade)
        is_head = request.method == "HEAD"
        return ProcessRequest(head, content, is_head=is_head, is_chunked=size == -1, is_raw=bool(upgrade))

    async def _send(
        self, function: HostedFunction, message: ProcessRequest
    ) -> tuple[VersionProcesses, Instance, Share, RelayedRequest]:
        """Send the request to a process; retry with another one only if the first is unreachable. Raises: FunctionError."""
        while True:
            version, instance, share = await self._acquire(function)
            sent_at = time.monotonic()
            try:
                return version, instance, share, await instance.send(message)
            except ProcessUnreachable:
                _release(version, instance, share)
            except BaseException:
                waited_s = time.monotonic() - sent_at
                if (
                    waited_s > _SILENT_S
                    and instance.was_silent_since(sent_at)
                    and instance in version.instances
                ):
                    # It may finish its requests if it can; the next request starts a new process.
                    version.stop(instance, "silent")
                _release(version, instance, share)
                raise

    async def _acquire(self, function: HostedFunction) -> tuple[VersionProcesses, Instance, Share]:
        """Reserve a share of a process of the function's newest version. Raises: FunctionError."""
        while True:
            version = self._version(function)
            try:
                instance = await version.acquire()
                return version, instance, instance.reserve()
            except VersionReplaced:
                newer = self._catalog.functions.get(function.name)
                if newer is None:
                    raise FunctionNotFound from None
                function = newer

    def _version(self, function: HostedFunction) -> VersionProcesses:
        version = self._versions.get(function.name)
        if version is None or (version.function.version != function.version and not self._is_stale(function)):
            if version is not None:
                self._drain(version)
            version = VersionProcesses(function, limits_of(function.settings, self._runtime), self._context)
            self._versions[function.name] = version
        return version

    def _is_stale(self, function: HostedFunction) -> bool:
        return self._catalog.functions.get(function.name) != function

    def _on_change(self, old: HostedFunction) -> None:
        """Drain the processes of a function that changed or was removed; the next request starts new ones."""
        version = self._versions.get(old.name)
        if version is not None and version.function.version == old.version:
            del self._versions[old.name]
            self._drain(version)

    def _drain(self, version: VersionProcesses) -> None:
        task = asyncio.get_running_loop().create_task(version.drain("early_drop"))
        self._draining[task] = version
        task.add_done_callback(lambda done: self._draining.pop(done, None))

    def _leaving(self) -> list[Instance]:
        """Return the processes that are stopping: they are sampled, too, because their limits stay in force."""
        versions = (*self._versions.values(), *self._draining.values())
        return [instance for version in versions for instance in version.leaving]

    async def _sample_processes(self) -> None:
        """Sample the processes forever: those with requests every `SAMPLE_S`, all of them every `REST_SAMPLE_S`."""
        last_round = 0.0
        while True:
            await asyncio.sleep(SAMPLE_S)
            now = time.monotonic()
            is_round = now - last_round >= REST_SAMPLE_S
            for instance in [*self.instances, *self._leaving()]:
                if (instance.in_flight or is_round) and (usage := sample(instance.pid)) is not None:
                    instance.judge(usage, now)
            if is_round:
                last_round = now
                for version in self._versions.values():
                    version.stop_idle(now)


class _StreamedResponse:
    """The body of a response that is still being sent. It holds its share of the process until it is closed."""

    def __init__(
        self,
        version: VersionProcesses,
        instance: Instance,
        share: Share,
        relayed: RelayedRequest,
        started_at: float,
        limits: EffectiveLimits,
    ) -> None:
        self._version, self._instance, self._share = version, instance, share
        self._relayed = relayed
        self._pieces = relayed.pieces()
        longest = limits.websocket_s if relayed.head.status == 101 else limits.wall_s
        self._until = asyncio.get_running_loop().time() + longest - (time.monotonic() - started_at)
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(self._pieces)
        except TimeoutError:
            raise BodyBroken("the function exceeded its time limit") from None
        except (http_wire.WireBroken, OSError) as error:
            # A client that retries at once must not reach the same dying process.
            await self._instance.wait_for_exit(_EXIT_WAIT_S)
            raise BodyBroken(str(error)) from None

    async def aclose(self) -> None:
        """Release the share and abort a response that has not ended."""
        if not self._is_closed:
            self._is_closed = True
            _release(self._version, self._instance, self._share)
            await self._relayed.close()


def _release(version: VersionProcesses, instance: Instance, share: Share) -> None:
    instance.release(share)
    if version.limits.is_oneshot:
        version.stop(instance, "oneshot")
    version.wake_next()
