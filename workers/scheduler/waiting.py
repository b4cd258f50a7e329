"""Requests of extension http: the session that asks waits for the answer, so each answer is written as it comes.

They lie in `headwater.http_queue`, committed by a session beside the one that waits, and are taken, guarded and sent as
those of net.py are: once, and never again. What was underway when this process died has no answer; who waits learns that
from the clock (headwater.http_exchange).
"""

import asyncio
from collections.abc import Mapping
from email.message import Message
from typing import NamedTuple
from uuid import UUID

import msgspec

from broker.observability.observe import observe
from schemas.settings.scheduler import Net
from workers.database.errors import DatabaseError
from workers.database.leader import Leadership
from workers.http_client.client import Fetched, FetchFailed, Outgoing
from workers.scheduler.net import NOT_OURS_TO_SEND
from workers.scheduler.observations import WaitingAnswered, WaitingNotAnswered
from workers.scheduler.statements import WAITING

CHANNEL = "headwater_http"
_LONGEST_S = 600.0
_MISSING = ("42P01", "3F000")
"""Codes of an error that says that this database has no such queue yet: machines are upgraded one after another."""
_TEXTS = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-www-form-urlencoded",
)


class Asked(NamedTuple):
    """A row of the queue."""

    id: UUID
    method: str
    url: str
    headers: str
    body: bytes | None
    redirects: int
    left_s: float


class Reply(NamedTuple):
    """A row of the answers."""

    id: UUID
    status: int | None = None
    content_type: str | None = None
    headers: str | None = None
    body: bytes | None = None
    error: str | None = None
    is_timeout: bool = False


class Waiting:
    """Answers sessions that wait, during one term of leadership."""

    def __init__(self, leadership: Leadership, outgoing: Outgoing, settings: Net) -> None:
        self._leadership, self._outgoing, self._settings = leadership, outgoing, settings
        self._woken = asyncio.Event()
        self._woken.set()
        self._replies: asyncio.Queue[Reply] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Look into the queue soon."""
        self._woken.set()

    async def take_all(self) -> None:
        """Take requests whenever there are some. Raises: DatabaseError, LeadershipLost."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            room = self._settings.concurrency - len(self._tasks)
            if room > 0 and await self._take(room) == room:
                self._woken.set()

    async def write_replies(self) -> None:
        """Write answers as they come. Raises: DatabaseError, LeadershipLost."""
        while True:
            await self._leadership.ask(WAITING["answered"], *await self._replies.get())

    async def finish(self, within_s: float) -> None:
        """Let what is underway end for a time, and write what came. Raises: DatabaseError, LeadershipLost."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()
        while not self._replies.empty():
            await self._leadership.ask(WAITING["answered"], *self._replies.get_nowait())

    async def stop(self) -> None:
        """Stop everything at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, most: int) -> int:
        try:
            rows = await self._leadership.ask(WAITING["take"], most)
        except DatabaseError as error:
            if error.code not in _MISSING:
                raise
            return 0
        for row in rows:
            task = asyncio.get_running_loop().create_task(self._send(Asked(*row)))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        return len(rows)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._woken.set()

    async def _send(self, asked: Asked) -> None:
        self._replies.put_nowait(await reply(asked, self._outgoing, self._settings))


async def reply(asked: Asked, outgoing: Outgoing, settings: Net) -> Reply:
    """Send a request and give what is written of it, whatever comes."""
    timeout_s = min(max(asked.left_s, 0.001), _LONGEST_S)
    try:
        found = await outgoing.fetch(
            asked.method,
            asked.url,
            headers=read_pairs(asked.headers),
            body=asked.body,
            timeout_s=timeout_s,
            most_bytes=int(settings.max_answer),
            only_public=True,
            redirects=asked.redirects,
        )
    except FetchFailed as error:
        reason = f"no answer within {timeout_s * 1000:.0f} ms" if error.is_timeout else str(error)
        observe(WaitingNotAnswered(reason))
        return Reply(asked.id, error=reason, is_timeout=error.is_timeout)
    observe(WaitingAnswered(found.status))
    return Reply(
        asked.id,
        found.status,
        _storable(found.headers["content-type"]) if "content-type" in found.headers else None,
        _pairs(found.headers),
        content_of(found),
    )


def read_pairs(text: str) -> dict[str, str]:
    """Give the headers of a request; those of one name become one, those by which it is framed are left out.

    Source: RFC 9110, 5.3.
    """
    headers: dict[str, str] = {}
    for name, value in msgspec.json.decode(text, type=list[tuple[str, str]]):
        known = next((each for each in headers if each.lower() == name.lower()), name)
        if known.lower() not in NOT_OURS_TO_SEND:
            headers[known] = f"{headers[known]}, {value}" if known in headers else value
    return headers


def content_of(found: Fetched) -> bytes:
    """Give the body as it is kept: text in UTF-8 without NUL, as Postgres wants it; everything else byte for byte."""
    message = Message()
    message["content-type"] = found.headers.get("content-type", "application/octet-stream")
    kind = message.get_content_type()
    if not (kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))):
        return found.body
    try:
        text = found.body.decode(message.get_content_charset("utf-8"), "replace")
    except LookupError:
        text = found.body.decode("utf-8", "replace")
    return _storable(text).encode()


def _pairs(headers: Mapping[str, str]) -> str:
    return msgspec.json.encode(
        [(_storable(name), _storable(text)) for name, text in headers.items()]
    ).decode()


def _storable(text: str) -> str:
    """Give a text as Postgres can hold it."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
