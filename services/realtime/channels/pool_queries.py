"""Queries of channels to the realtime pool (schemas/realtime.py): rights, writes and client positions."""

import secrets
from typing import TypeVar

from msgspec import Struct

from broker.codec import InvalidMessage, decoder, encode
from broker.requests.call import Calls
from broker.subjects import REALTIME
from schemas.errors import Unavailable
from schemas.http import Request
from schemas.realtime import (
    CHANNEL,
    POSITION,
    WRITE,
    ChannelQuery,
    ChannelRights,
    PositionAnswer,
    PositionQuery,
    ReplayQuery,
    WriteAnswer,
    WriteQuery,
)
from services.realtime.channels.actions import Extension, ReadRights
from services.realtime.protocol.join import ReplayRequest
from services.realtime.tokens import RealtimeIdentity

T = TypeVar("T", bound=Struct)

_BUDGET_MS = 8000
_POSITION_BUDGET_MS = 1000
"""A join waits this long for its position at most; without one it receives new changes only."""


class ChannelQueryRejected(Exception):
    """The pool answered a query with another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class ChannelQueries:
    """Sends the queries of channels to the pool."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def rights(
        self,
        topic: str,
        identity: RealtimeIdentity,
        headers: dict[str, str],
        *,
        with_presence: bool,
        replay: ReplayRequest | None = None,
    ) -> ReadRights:
        """Return what may be read of a private channel. Raises: Unavailable, DeadlineExceeded, ChannelQueryRejected."""
        query = ChannelQuery(
            topic=topic,
            role=identity.role,
            claims=identity.claims,
            headers=headers,
            with_presence=with_presence,
            replay=ReplayQuery(replay.since, replay.limit)
            if replay is not None and replay.is_valid
            else None,
        )
        rights = await self._query(CHANNEL, query, ChannelRights)
        return ReadRights(rights.can_read_broadcast, rights.can_read_presence, tuple(rights.replayed))

    async def may_write(
        self, topic: str, identity: RealtimeIdentity, headers: dict[str, str], extension: Extension
    ) -> bool:
        """Return whether a caller may send to a private channel.

        Raises: Unavailable, DeadlineExceeded, ChannelQueryRejected.
        """
        query = WriteQuery(topic, identity.role, identity.claims, extension, headers)
        return (await self._query(WRITE, query, WriteAnswer)).is_allowed

    async def position(self, query: PositionQuery) -> PositionAnswer:
        """Return up to where a client acknowledged row changes.

        Raises: Unavailable, DeadlineExceeded, ChannelQueryRejected.
        """
        return await self._query(POSITION, query, PositionAnswer, _POSITION_BUDGET_MS)

    async def _query(self, path: str, query: Struct, kind: type[T], budget_ms: int = _BUDGET_MS) -> T:
        request = Request(
            id=secrets.token_hex(8), method="POST", path=path, body=encode(query), budget_ms=budget_ms
        )
        answer = await self._calls.call(REALTIME, request)
        body = answer.response.body
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        if answer.response.status != 200:
            raise ChannelQueryRejected(answer.response.status)
        try:
            result: T = decoder(kind)(body)
        except InvalidMessage as error:
            raise Unavailable(
                f"the realtime pool answered in a form that is not understood ({error})"
            ) from None
        return result
