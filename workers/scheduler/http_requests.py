"""Requests of the extension http: the SQL session blocks until the answer, so each answer is written when it arrives.

The extension inserts them into `headwater.http_queue` from a second session, which commits. They are claimed, checked
and sent like those of net_requests.py: once, and never again. A request in progress when this process dies has no answer; the
waiting session then times out (headwater.http_wait).
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from email.message import Message
from typing import NamedTuple
from uuid import UUID

import msgspec

from broker.observability.observe import observe
from schemas.settings.scheduler import Net
from workers.database.errors import DatabaseError
from workers.database.passing_errors import is_passing
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient
from workers.scheduler.net_requests import FRAMING_HEADERS, decoded
from workers.scheduler.observations import WaitingAnswered, WaitingNotAnswered
from workers.scheduler.statements import WAITING

CHANNEL = "headwater_http"
_LONGEST_S = 600.0
_AGAIN_S = 0.5
"""Pause before the database is tried again, which neither claimed requests nor stored an answer: nothing announces that it does."""
_MISSING = ("42P01", "3F000")
"""SQLSTATEs that mean this database lacks the queue: machines are upgraded one after another."""
_TEXTS = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-www-form-urlencoded",
)


class HttpRequestRow(NamedTuple):
    """A row of the queue."""

    id: UUID
    method: str
    url: str
    headers: str
    body: bytes | None
    redirects: int
    left_s: float


class HttpReplyRow(NamedTuple):
    """A row of the answers."""

    id: UUID
    status: int | None = None
    content_type: str | None = None
    headers: str | None = None
    body: bytes | None = None
    error: str | None = None
    is_timeout: bool = False


class HttpExchange:
    """Answers waiting sessions during one term of leadership. Errors of the database do not end the term, in which other work is underway."""

    def __init__(self, leadership: Leadership, outgoing: HttpClient, settings: Net) -> None:
        self._leadership, self._outgoing, self._settings = leadership, outgoing, settings
        self._woken = asyncio.Event()
        self._woken.set()
        self._replies: asyncio.Queue[tuple[HttpReplyRow, float]] = asyncio.Queue()
        """Answers, each with the time of the loop until which its session waits."""
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Poll the queue soon."""
        self._woken.set()

    async def take_all(self) -> None:
        """Claim requests whenever there are some. Raises: LeadershipLost."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            room = self._settings.concurrency - len(self._tasks) - self._replies.qsize()
            try:
                if room > 0 and await self._take(room) == room:
                    self._woken.set()
            except DatabaseError as error:
                if error.code not in _MISSING:
                    self._woken.set()
                    await asyncio.sleep(_AGAIN_S)

    async def write_replies(self) -> None:
        """Write each answer when it arrives. Raises: LeadershipLost."""
        while True:
            reply, until = await self._replies.get()
            while not await self._write(reply, until):  # noqa: ASYNC110 - nothing announces that the database takes it again
                await asyncio.sleep(_AGAIN_S)
            self._woken.set()  # it leaves room for another request

    async def finish(self, within_s: float) -> None:
        """Wait `within_s` for requests in progress, and write their answers. Raises: LeadershipLost."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()
        while not self._replies.empty():
            await self._write(*self._replies.get_nowait())

    async def stop(self) -> None:
        """Cancel everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _write(self, reply: HttpReplyRow, until: float) -> bool:
        """Write an answer; return false if it should be tried again. What the database will never take is replaced by the reason."""
        try:
            await self._leadership.ask(WAITING["answered"], *reply)
        except DatabaseError as error:
            if is_passing(error) and asyncio.get_running_loop().time() < until:
                return False
            reason = f"the answer could not be stored: SQLSTATE {error.code}"
            observe(WaitingNotAnswered(reason))
            if not is_passing(error):
                with suppress(
                    DatabaseError
                ):  # its session is answered already, or waits until its time is over
                    await self._leadership.ask(WAITING["answered"], *HttpReplyRow(reply.id, error=reason))
        return True

    async def _take(self, most: int) -> int:
        rows = await self._leadership.ask(WAITING["take"], most)
        for row in rows:
            task = asyncio.get_running_loop().create_task(self._send(HttpRequestRow(*row)))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        return len(rows)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._woken.set()

    async def _send(self, request: HttpRequestRow) -> None:
        until = asyncio.get_running_loop().time() + request.left_s
        reply = await send_and_reply(request, self._outgoing, self._settings)
        self._replies.put_nowait((reply, until))


async def send_and_reply(request: HttpRequestRow, outgoing: HttpClient, settings: Net) -> HttpReplyRow:
    """Send a request and return the row of its answer, or of its failure."""
    timeout_s = min(max(request.left_s, 0.001), _LONGEST_S)
    try:
        response = await outgoing.fetch(
            request.method,
            request.url,
            headers=read_pairs(request.headers),
            body=request.body,
            timeout_s=timeout_s,
            most_bytes=int(settings.max_answer),
            only_public=True,
            redirects=request.redirects,
        )
    except FetchFailed as error:
        reason = f"no answer within {timeout_s * 1000:.0f} ms" if error.is_timeout else str(error)
        observe(WaitingNotAnswered(reason))
        return HttpReplyRow(request.id, error=reason, is_timeout=error.is_timeout)
    observe(WaitingAnswered(response.status))
    return HttpReplyRow(
        request.id,
        response.status,
        _storable(response.headers["content-type"]) if "content-type" in response.headers else None,
        _pairs(response.headers),
        content_of(response),
    )


def read_pairs(text: str) -> dict[str, str]:
    """Return the headers of a request; repeated ones are joined, framing headers are dropped.

    Source: RFC 9110, 5.3.
    """
    headers: dict[str, str] = {}
    for name, value in msgspec.json.decode(text, type=list[tuple[str, str]]):
        spelling = next((header for header in headers if header.lower() == name.lower()), name)
        if spelling.lower() not in FRAMING_HEADERS:
            headers[spelling] = f"{headers[spelling]}, {value}" if spelling in headers else value
    return headers


def content_of(response: FetchedResponse) -> bytes:
    """Return the body for the table: text as UTF-8 without NUL, as Postgres needs it; other content unchanged."""
    message = Message()
    message["content-type"] = response.headers.get("content-type", "application/octet-stream")
    kind = message.get_content_type()
    if not (kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))):
        return response.body
    return _storable(decoded(response.body, message)).encode()


def _pairs(headers: Mapping[str, str]) -> str:
    return msgspec.json.encode(
        [(_storable(name), _storable(text)) for name, text in headers.items()]
    ).decode()


def _storable(text: str) -> str:
    """Return a text without characters that Postgres cannot store."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
