"""Answers to the checks of a channel's state machine: tokens, joins, and what may be read and sent."""

from collections.abc import Awaitable
from typing import TypeVar

from schemas.errors import ApiError
from services.realtime.channels.actions import (
    Action,
    Check,
    Extension,
    JoinCheck,
    ReadCheck,
    ReadRights,
    TokenCheck,
    WriteCheck,
)
from services.realtime.channels.machine import ChannelMachine, ChannelState
from services.realtime.channels.pool_queries import ChannelQueryRejected
from services.realtime.channels.services import ChannelServices
from services.realtime.tokens import RealtimeIdentity, RealtimeTokenRejected
from services.realtime.topics.hub import TopicMember

T = TypeVar("T")

_NO_DATABASE = "UnableToConnectToProject: Realtime was unable to connect to the project database"
_UNKNOWN = "Unknown Error on Channel"


class ChannelChecks:
    """Carries out the checks of one channel. `headers` are those of its socket that policies may read."""

    def __init__(
        self, services: ChannelServices, machine: ChannelMachine, member: TopicMember, headers: dict[str, str]
    ) -> None:
        self._services, self._machine, self._member, self._headers = services, machine, member, headers

    async def answer(self, check: Check, now: float) -> list[Action]:
        """Carry out a check and return the actions that follow. `now` is in seconds since 1970."""
        match check:
            case TokenCheck(token):
                return self._machine.token_checked(await self._read_token(token, now))
            case JoinCheck():
                return await self._join()
            case ReadCheck(identity):
                return self._machine.read_checked(await _answered(self._rights(identity)))
            case WriteCheck(extension):
                return self._machine.write_checked(extension, await _answered(self._may_write(extension)))

    async def _read_token(self, token: str, now: float) -> RealtimeIdentity | RealtimeTokenRejected:
        try:
            return await self._services.tokens.read(token, now)
        except RealtimeTokenRejected as rejected:
            return rejected

    async def _join(self) -> list[Action]:
        """Join the topic first, then query the rights: what is sent meanwhile is held, not lost."""
        machine, join = self._machine, self._machine.join
        await self._services.hub.join(self._member, machine.name, is_private=join.is_private)
        if (
            machine.state is ChannelState.CLOSED
        ):  # closed while the broker processed the subscription: leave again
            self._services.hub.leave(self._member, machine.name, is_private=join.is_private)
            return []
        if not join.is_private:
            return machine.join_allowed(ReadRights())
        try:
            rights = await self._rights(machine.identity, with_replay=True)
        except ApiError:
            return machine.join_failed(_NO_DATABASE)
        except ChannelQueryRejected:
            return machine.join_failed(_UNKNOWN)
        return machine.join_allowed(rights)

    async def _rights(self, identity: RealtimeIdentity, *, with_replay: bool = False) -> ReadRights:
        return await self._services.queries.rights(
            self._machine.name,
            identity,
            self._headers,
            with_presence=True,
            replay=self._machine.join.replay if with_replay else None,
        )

    async def _may_write(self, extension: Extension) -> bool:
        name, identity = self._machine.name, self._machine.identity
        return await self._services.queries.may_write(name, identity, self._headers, extension)


async def _answered(query: Awaitable[T]) -> T | None:
    """Return the answer to a query; None if the pool cannot answer or rejects it."""
    try:
        return await query
    except (ApiError, ChannelQueryRejected):
        return None
