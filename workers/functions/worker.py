"""The functions pool at work: a `Request` in, what the function answers out.

    name --> is there such a function? --> OPTIONS? --> its token check --> a process with room --> relay

The order is that of the reference (page "functions", section 1): a preflight is the function's own business, so it is
never asked for a token.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from urllib.parse import quote

from broker.observability.tracing import STATE
from broker.requests.body import BodyBroken
from broker.requests.handler import RequestBody, StreamedResponse
from schemas.functions.errors import FunctionNameMissing, FunctionNotFound, FunctionTimedOut, SandboxMissing
from schemas.http import Request, Response, header
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from schemas.settings.functions import EdgeRuntime
from workers.functions import http_wire
from workers.functions.admin import PREFIX as ADMIN
from workers.functions.admin import Admin
from workers.functions.crew import Crew, CrewEnded
from workers.functions.environment import Keys
from workers.functions.limits import REST_SAMPLE_S, SAMPLE_S, Limits, Share, limits_of, sample
from workers.functions.process import Instance, Surroundings
from workers.functions.registry import NAME, Function
from workers.functions.relay import Exchange, Unreached
from workers.functions.shelf import Shelf
from workers.functions.tokens import check_token, with_token

_HEALTH = "/_internal/health"
_JSON = ("content-type", "application/json")
_UNSAFE = re.compile(r"[^\x21-\x7e]")
_LAST_GRACE_S = 5.0
_SEE_OFF_S = 0.2
"""How long an answer that breaks off may wait for the end of its process; where only the answer broke, the process lives."""
_SILENT_S = 30.0
"""A process that gave no byte of any answer while a request waited for so long in vain is given no further ones."""


class FunctionsWorker:
    """Answers for the functions of a shelf."""

    def __init__(self, shelf: Shelf, keys: Keys, runtime: EdgeRuntime, around: Surroundings) -> None:
        self._shelf = shelf
        self._keys = keys
        self._runtime = runtime
        self._around = around
        self._is_held = around.places.walls.is_enough or runtime.unsafe_without_sandbox
        self._crews: dict[str, Crew] = {}
        self._draining: dict[asyncio.Task[None], Crew] = {}
        self._guarding: asyncio.Task[None] | None = None
        self.admin: Admin | None = None
        shelf.on_change = self._replace

    @property
    def instances(self) -> list[Instance]:
        """All processes that answer requests."""
        return [each for crew in self._crews.values() for each in crew.instances]

    def start(self) -> None:
        """Look after the processes from now on."""
        self._guarding = asyncio.get_running_loop().create_task(self._guard())

    async def close(self) -> None:
        """End all processes; they have a moment for what they have begun."""
        if self._guarding is not None:
            self._guarding.cancel()
            await asyncio.wait([self._guarding])
        crews = [crew.drain("early_drop", _LAST_GRACE_S) for crew in self._crews.values()]
        await asyncio.gather(*crews, *(each.retire("early_drop", _LAST_GRACE_S) for each in self._leaving()))

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Raises: FunctionError."""
        if request.path == _HEALTH:
            return Response(200, [_JSON], b'{"message":"ok"}')
        if request.path.startswith(ADMIN) and self.admin is not None:
            return await self.admin.answer(request, body, lambda: self._shelf.functions)
        name = request.path[1:].partition("/")[0]
        if not name:
            raise FunctionNameMissing
        function = await self._shelf.get(name) if NAME.fullmatch(name) else None
        if function is None:
            raise FunctionNotFound
        if not self._is_held:
            raise SandboxMissing
        if request.method != "OPTIONS" and function.settings.verify_jwt:
            check_token(request)
        return await self._run(function, request, body)

    async def _run(
        self, function: Function, request: Request, body: RequestBody
    ) -> Response | StreamedResponse:
        began = time.monotonic()
        limits = limits_of(function.settings, self._runtime)
        head, content, is_chunked, upgrade = self._message(request, body)
        try:
            async with asyncio.timeout(limits.timeout_s):
                crew, instance, share, exchange = await self._exchange(
                    function, head, content, request.method == "HEAD", is_chunked, bool(upgrade)
                )
        except TimeoutError:
            raise FunctionTimedOut from None
        job = _Job(crew, instance, share, exchange, began, limits)
        answer = exchange.head
        whole = exchange.whole()
        if whole is not None:
            await job.aclose()
            return Response(answer.status, answer.headers, whole)
        return StreamedResponse(answer.status, answer.headers, job, size=answer.size)

    def _message(
        self, request: Request, body: RequestBody
    ) -> tuple[bytes, bytes | AsyncIterator[bytes], bool, str]:
        """Give the head of the message for the function, its body, whether that goes in chunks, and its upgrade."""
        headers = [each for each in with_token(request, self._keys) if each[0] != "x-request-id"]
        headers.append(("x-request-id", request.id))
        if STATE.tracing is not None and (trace := STATE.tracing.headers()):
            headers = [each for each in headers if each[0] not in ("traceparent", "tracestate")] + trace
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
        target = _UNSAFE.sub(lambda found: quote(found[0]), request.path)
        if request.query:
            target += "?" + _UNSAFE.sub(lambda found: quote(found[0]), request.query)
        host = header(headers, "x-forwarded-host") or header(headers, "host") or "localhost"
        head = http_wire.request_head(request.method, target, host, headers, size, upgrade)
        return head, content, size == -1, upgrade

    async def _exchange(
        self,
        function: Function,
        head: bytes,
        content: bytes | AsyncIterator[bytes],
        is_head: bool,
        is_chunked: bool,
        is_raw: bool,
    ) -> tuple[Crew, Instance, Share, Exchange]:
        """Have a process take the request; one that has just died was asked nothing, so another is. Raises: FunctionError."""
        while True:
            crew, instance, share = await self._place(function)
            asked_at = time.monotonic()
            try:
                exchange = await instance.ask(
                    head, content, is_head=is_head, is_chunked=is_chunked, is_raw=is_raw
                )
                return crew, instance, share, exchange
            except Unreached:
                _leave(crew, instance, share)
            except BaseException:
                waited_s = time.monotonic() - asked_at
                if (
                    waited_s > _SILENT_S
                    and instance.was_silent_since(asked_at)
                    and instance in crew.instances
                ):
                    crew.end(
                        instance, "silent"
                    )  # it finishes what it has, if it can; others start with a new one
                _leave(crew, instance, share)
                raise

    async def _place(self, function: Function) -> tuple[Crew, Instance, Share]:
        """Take a place in a process of the function's newest version. Raises: FunctionError."""
        while True:
            crew = self._crew(function)
            try:
                instance = await crew.take()
                return crew, instance, instance.take()
            except CrewEnded:
                newer = self._shelf.functions.get(function.name)
                if newer is None:
                    raise FunctionNotFound from None
                function = newer

    def _crew(self, function: Function) -> Crew:
        crew = self._crews.get(function.name)
        if crew is None or (crew.function.version != function.version and not self._is_stale(function)):
            if crew is not None:
                self._end(crew)
            crew = Crew(function, limits_of(function.settings, self._runtime), self._around)
            self._crews[function.name] = crew
        return crew

    def _is_stale(self, function: Function) -> bool:
        return self._shelf.functions.get(function.name) != function

    def _replace(self, old: Function) -> None:
        """A function has changed or is gone: its processes finish what they have, the next request starts new ones."""
        crew = self._crews.get(old.name)
        if crew is not None and crew.function.version == old.version:
            del self._crews[old.name]
            self._end(crew)

    def _end(self, crew: Crew) -> None:
        task = asyncio.get_running_loop().create_task(crew.drain("early_drop"))
        self._draining[task] = crew
        task.add_done_callback(lambda done: self._draining.pop(done, None))

    def _leaving(self) -> list[Instance]:
        """Give the processes that are to end: their limits hold until they have."""
        return [each for crew in (*self._crews.values(), *self._draining.values()) for each in crew.leaving]

    async def _guard(self) -> None:
        """Look at the processes: often at those that work, now and then at all."""
        rested = 0.0
        while True:
            await asyncio.sleep(SAMPLE_S)
            now = time.monotonic()
            is_round = now - rested >= REST_SAMPLE_S
            for each in [*self.instances, *self._leaving()]:
                if (each.in_flight or is_round) and (seen := sample(each.pid)) is not None:
                    each.judge(seen, now)
            if is_round:
                rested = now
                for crew in self._crews.values():
                    crew.rest(now)


class _Job:
    """An answer that is being made: its pieces, and the place it takes until it is closed."""

    def __init__(
        self, crew: Crew, instance: Instance, share: Share, exchange: Exchange, began: float, limits: Limits
    ) -> None:
        self._crew, self._instance, self._share = crew, instance, share
        self._exchange = exchange
        self._pieces = exchange.pieces()
        longest = limits.websocket_s if exchange.head.status == 101 else limits.wall_s
        self._until = asyncio.get_running_loop().time() + longest - (time.monotonic() - began)
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(self._pieces)
        except TimeoutError:
            raise BodyBroken("the function took longer than it may") from None
        except (http_wire.WireBroken, OSError) as error:
            await self._instance.see_off(_SEE_OFF_S)  # who asks again because of this gets another process
            raise BodyBroken(str(error)) from None

    async def aclose(self) -> None:
        """Give the place back; an answer that has not ended is aborted."""
        if not self._is_closed:
            self._is_closed = True
            _leave(self._crew, self._instance, self._share)
            await self._exchange.close()


def _leave(crew: Crew, instance: Instance, share: Share) -> None:
    instance.give_back(share)
    if crew.limits.is_oneshot:
        crew.end(instance, "oneshot")
    crew.room()
