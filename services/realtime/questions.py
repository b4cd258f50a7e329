"""What this edge asks the realtime pool (schemas/realtime.py)."""

import secrets
from typing import TypeVar

from msgspec import Struct

from broker.codec import Undecodable, decoder, encode
from broker.requests.call import Calls
from broker.subjects import REALTIME
from schemas.errors import Unavailable
from schemas.http import Request
from schemas.realtime import (
    CHANNEL,
    POSITION,
    WRITE,
    Channel,
    ChannelAsked,
    PositionAnswer,
    PositionQuery,
    Replay,
    WriteAsked,
    Written,
)
from services.realtime.channel_actions import Extension, Rights
from services.realtime.join import ReplayWanted
from services.realtime.tokens import Identity

T = TypeVar("T", bound=Struct)

_BUDGET_MS = 8000
_POSITION_BUDGET_MS = 1000
"""A join does not wait longer for its position; without one it gets what is new."""


class Refused(Exception):
    """The pool answered, but not with what was asked: its status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Questions:
    """Asks the pool on behalf of channels."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def rights(
        self,
        topic: str,
        identity: Identity,
        headers: dict[str, str],
        *,
        with_presence: bool,
        replay: ReplayWanted | None = None,
    ) -> Rights:
        """Give what may be read of a private channel. Raises: Unavailable, DeadlineExceeded, Refused."""
        asked = ChannelAsked(
            topic=topic,
            role=identity.role,
            claims=identity.claims,
            headers=headers,
            with_presence=with_presence,
            replay=None if replay is None else Replay(replay.since, replay.limit),
        )
        found = await self._ask(CHANNEL, asked, Channel)
        return Rights(found.can_read_broadcast, found.can_read_presence, tuple(found.replayed))

    async def may_write(
        self, topic: str, identity: Identity, headers: dict[str, str], extension: Extension
    ) -> bool:
        """Tell whether somebody may send to a private channel. Raises: Unavailable, DeadlineExceeded, Refused."""
        asked = WriteAsked(topic, identity.role, identity.claims, extension, headers)
        return (await self._ask(WRITE, asked, Written)).is_allowed

    async def position(self, query: PositionQuery) -> PositionAnswer:
        """Return up to where a client acknowledged row changes. Raises: Unavailable, DeadlineExceeded, Refused."""
        return await self._ask(POSITION, query, PositionAnswer, _POSITION_BUDGET_MS)

    async def _ask(self, path: str, asked: Struct, kind: type[T], budget_ms: int = _BUDGET_MS) -> T:
        request = Request(
            id=secrets.token_hex(8), method="POST", path=path, body=encode(asked), budget_ms=budget_ms
        )
        answer = await self._calls.call(REALTIME, request)
        body = answer.response.body
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        if answer.response.status != 200:
            raise Refused(answer.response.status)
        try:
            found: T = decoder(kind)(body)
        except Undecodable as error:
            raise Unavailable(
                f"the realtime pool answered in a form that is not understood ({error})"
            ) from None
        return found
