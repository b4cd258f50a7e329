"""HTTP requests of SQL (extension pg_net): claimed from the queue after their commit, sent once, their responses
stored.

Nothing is retried: claiming a request deletes it, so a request in progress when a process dies gets no response (as with
the original). Addresses are checked at every redirect (workers/http_client/address_guard.py). Without requests there is
no polling: a NOTIFY at the commit wakes the sender.
"""

import asyncio
from collections.abc import Mapping, Sequence
from email.message import Message
from typing import NamedTuple

import msgspec
from msgspec import Struct

from broker.observability.observe import observe
from schemas.settings.scheduler import Net
from workers.database.errors import DatabaseError
from workers.database.passing_errors import is_passing
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient
from workers.scheduler.observations import RequestNotAnswered, RequestSent
from workers.scheduler.statements import JOBS, NET

_REDIRECTS = 5
_LONGEST_S = 600.0
_SWEEP_S = 600.0
_AGAIN_S = 0.5
"""Pause before the database is tried again, which neither claimed requests nor stored responses: nothing announces that it does."""
_AT_ONCE = 200
_MOST_AT_ONCE = 16 << 20
"""Characters of the responses that are written in one statement: a value of jsonb has at most 256 MiB."""
_DROPPED = ("42P01", "3F000")
"""SQLSTATEs that mean the extension was dropped."""
FRAMING_HEADERS = frozenset(
    {"content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer"}
)
"""Headers that could frame a request in two ways (request smuggling); the client sets them itself."""


_read_headers = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class QueuedRequest(NamedTuple):
    """A row of the queue."""

    id: int
    method: str
    url: str
    headers: str | None
    body: bytes | None
    timeout_ms: int


class NetResponse(Struct, frozen=True):
    """A row of the responses."""

    id: int
    status_code: int | None = None
    content_type: str | None = None
    headers: Mapping[str, str] | None = None
    content: str | None = None
    timed_out: bool | None = None
    error_msg: str | None = None


class NetSender:
    """Sends requests during one term of leadership. Errors of the database do not end the term, in which other work is underway."""

    def __init__(self, leadership: Leadership, outgoing: HttpClient, settings: Net) -> None:
        self._leadership, self._outgoing, self._settings = leadership, outgoing, settings
        self._woken = asyncio.Event()
        self._woken.set()
        self._answered = asyncio.Event()
        self._has_answers = asyncio.Event()
        self._has_answers.set()
        self._answers: list[NetResponse] = []
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._serves = False
        self._at_once = _AT_ONCE

    def wake(self) -> None:
        """Poll the queue soon."""
        self._woken.set()

    async def take_all(self) -> None:
        """Claim requests whenever there are some. Raises: LeadershipLost."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            room = self._settings.concurrency - len(self._tasks) - len(self._answers)
            try:
                if room > 0 and len(await self._take(room)) == room:
                    self._woken.set()
            except DatabaseError:
                self._woken.set()
                await asyncio.sleep(_AGAIN_S)

    async def write_answers(self) -> None:
        """Write responses when they arrive, many in one statement. Raises: LeadershipLost."""
        while True:
            await self._answered.wait()
            self._answered.clear()
            while not await self._write():  # noqa: ASYNC110 - nothing announces that the database takes it again
                await asyncio.sleep(_AGAIN_S)

    async def sweep(self) -> None:
        """Delete old responses while there are any. Raises: LeadershipLost."""
        while True:
            await self._has_answers.wait()
            if not await self._sweep():
                self._has_answers.clear()
                continue
            await asyncio.sleep(_SWEEP_S)

    async def finish(self, within_s: float) -> None:
        """Claim nothing more, wait `within_s` for requests in progress, write their responses.

        Raises: LeadershipLost.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()
        await self._write()

    async def stop(self) -> None:
        """Cancel everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, most: int) -> list[QueuedRequest]:
        if not await self._is_ours():
            return []
        try:
            rows = await self._leadership.ask(NET["take"], most)
        except DatabaseError as error:
            if error.code not in _DROPPED:
                raise
            self._serves = False
            return []
        claimed = sorted(QueuedRequest(*row) for row in rows)
        for queued in claimed:
            task = asyncio.get_running_loop().create_task(self._send(queued))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        return claimed

    async def _is_ours(self) -> bool:
        if not self._serves:
            self._serves = bool((await self._leadership.ask(JOBS["serves"]))[0]["requests"])
        return self._serves

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._woken.set()

    async def _send(self, queued: QueuedRequest) -> None:
        self._answers.append(await send_request(queued, self._outgoing, self._settings))
        self._answered.set()

    async def _write(self) -> bool:
        """Write all responses; return false if the rest should be tried again. One that the database will never take is dropped."""
        async with self._writing:  # `finish` must wait for a write in progress
            while some := writable_at_once(self._answers, self._at_once):
                try:
                    await self._leadership.ask(NET["answered"], msgspec.json.encode(some).decode())
                except DatabaseError as error:
                    if error.code not in _DROPPED and is_passing(error):
                        return False
                    if error.code not in _DROPPED and len(some) > 1:
                        self._at_once = 1  # find the one that is refused
                        continue
                    for response in some:
                        observe(RequestNotAnswered(response.id, f"not stored: SQLSTATE {error.code}"))
                    self._at_once = _AT_ONCE
                del self._answers[: len(some)]
                self._has_answers.set()
                self._woken.set()  # they leave room for further requests
            self._at_once = _AT_ONCE
        return True

    async def _sweep(self) -> bool:
        """Delete old responses; return whether some are left."""
        try:
            return await self._is_ours() and bool(
                (await self._leadership.ask(NET["sweep"], float(self._settings.keep_answers)))[0][0]
            )
        except DatabaseError:
            self._serves = False
            return False


def writable_at_once(answers: Sequence[NetResponse], most: int = _AT_ONCE) -> list[NetResponse]:
    """Return the first responses, `most` of them, as many as one statement takes: at least one, if there is one (pure)."""
    some: list[NetResponse] = []
    size = 0
    for answer in answers[:most]:
        size += len(answer.content or "")
        if some and size > _MOST_AT_ONCE:
            break
        some.append(answer)
    return some


async def send_request(queued: QueuedRequest, outgoing: HttpClient, settings: Net) -> NetResponse:
    """Send a request and return the row of its response, or of its failure."""
    timeout_ms = max(queued.timeout_ms, 1)
    try:
        response = await outgoing.fetch(
            queued.method.upper(),
            queued.url,
            headers=read_headers(queued.headers),
            body=queued.body,
            timeout_s=min(timeout_ms / 1000, _LONGEST_S),
            most_bytes=int(settings.max_answer),
            only_public=True,
            redirects=_REDIRECTS,
        )
    except FetchFailed as error:
        reason = f"Timeout of {timeout_ms} ms reached" if error.is_timeout else str(error)
        observe(RequestNotAnswered(queued.id, reason))
        return NetResponse(queued.id, timed_out=error.is_timeout, error_msg=reason)
    observe(RequestSent(queued.id, response.status))
    return _written(queued.id, response)


def read_headers(text: str | None) -> dict[str, str]:
    """Return the headers of a request without framing headers."""
    try:
        headers = _read_headers(text or "{}")
    except (msgspec.ValidationError, RecursionError):  # not an object, or values that no header has
        return {}
    return {
        name: str(msgspec.json.decode(value)) if bytes(value).startswith(b'"') else bytes(value).decode()
        for name, value in headers.items()
        if name.lower() not in FRAMING_HEADERS and bytes(value) != b"null"
    }


def _written(id: int, response: FetchedResponse) -> NetResponse:
    kind = response.headers.get("content-type")
    headers = {_storable(name): _storable(text) for name, text in response.headers.items()}
    content = _storable(_decoded(response.body, kind))
    return NetResponse(
        id, response.status, _storable(kind) if kind else None, headers, content, timed_out=False
    )


def _decoded(body: bytes, kind: str | None) -> str:
    message = Message()
    message["content-type"] = kind or "text/plain"
    return decoded(body, message)


def decoded(body: bytes, message: Message) -> str:
    """Return a body as text by the charset of its Content-Type; by UTF-8 where that is unknown or cannot be replaced in."""
    try:
        return body.decode(message.get_content_charset("utf-8"), "replace")
    except (LookupError, ValueError):  # some of Python's codecs are no charsets: idna, undefined
        return body.decode("utf-8", "replace")


def _storable(text: str) -> str:
    """Return a text without characters that Postgres cannot store."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
