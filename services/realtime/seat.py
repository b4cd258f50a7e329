"""A channel at work: it does what the state machine says (`channel.py`), and brings it the answers.

One task at a time stands for the open question of the channel. A defect of ours ends this channel with `phx_error`, after
which its client joins anew; the socket and its other channels go on.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from broker.observability.observe import observe, traceback_of
from schemas.changes import Position
from schemas.errors import ApiError
from schemas.realtime import Replayed
from services.realtime import frames
from services.realtime.channel import Channel, State, system_payload
from services.realtime.channel_actions import (
    Action,
    Admit,
    AskWrite,
    Broadcast,
    Close,
    Enabled,
    Extension,
    Follow,
    Leave,
    ReadAgain,
    Renew,
    Replay,
    Reply,
    Rights,
    Tell,
    Track,
    Untrack,
    Verify,
)
from services.realtime.client_positions import (
    ChannelMemory,
    EdgePositions,
    Progress,
    RememberedChannel,
    recognize,
)
from services.realtime.following import Following
from services.realtime.frames import Push, UserPush, Vsn
from services.realtime.hub import Hub
from services.realtime.limits import Brake, Turns
from services.realtime.model import Feed
from services.realtime.observed import SocketCrashed
from services.realtime.questions import Questions, Refused
from services.realtime.rooms import Form, Message
from services.realtime.tokens import Identity, TokenRefused, Tokens
from services.realtime.tracker import Tracker

T = TypeVar("T")

_MOST_HELD = 1000
_MOST_HELD_BYTES = 16_000_000
_NO_DATABASE = "UnableToConnectToProject: Realtime was unable to connect to the project database"
_UNKNOWN = "Unknown Error on Channel"


@dataclass(slots=True)
class House:
    """What all channels of this process use."""

    hub: Hub
    tracker: Tracker
    tokens: Tokens
    questions: Questions
    brake: Brake
    turns: Turns
    feed: Callable[[], Feed | None]
    positions: EdgePositions


class Socket(Protocol):
    """What a channel needs of its socket."""

    vsn: Vsn
    headers: dict[str, str]
    address: str
    user_agent: str

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that more should wait in the stream."""
        ...

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        ...

    def forget(self, seat: "Seat") -> None:
        """Hear that a channel is over."""
        ...


class Seat:
    """One channel of one socket."""

    def __init__(self, house: House, socket: Socket, channel: Channel) -> None:
        self.vsn = socket.vsn
        self.topic = channel.topic
        self._house = house
        self._socket = socket
        self._channel = channel
        self._task: asyncio.Task[None] | None = None
        self._slow: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._following: Following | None = None
        self._memory: ChannelMemory | None = None
        self._held: list[tuple[Message, bytes]] | None = []
        self._held_bytes = 0
        self._replayed: frozenset[str] = frozenset()

    @property
    def entries(self) -> int:
        """Return how many entries of row changes it was joined with."""
        return len(self._channel.join.changes)

    @property
    def join_ref(self) -> frames.Ref:
        """What the client joined it with."""
        return self._channel.join_ref

    def begin(self) -> None:
        """Join."""
        self._act(self._channel.begin())

    def push(self, push: Push | UserPush) -> None:
        """Hear what the client sends to this channel."""
        self._act(self._channel.push(push, time.time()))

    def stop(self, message: str) -> None:
        """End it from our side."""
        self._act(self._channel.stop(message))

    def replaced(self) -> None:
        """End it because the client joins the topic anew."""
        self._act(self._channel.replaced())

    def system(self, status: str, message: str, **more: str) -> None:
        """Send a `system` message about row changes."""
        self._tell("system", system_payload(self._channel.name, "postgres_changes", status, message, **more))

    @property
    def position(self) -> Position | None:
        """Up to where all row changes are sent; None where none are followed, or that is not known."""
        return None if self._following is None else self._following.position

    @property
    def remembered(self) -> tuple[RememberedChannel, Progress] | None:
        """Return what the client acknowledged and what it was sent; None where that is not remembered."""
        memory, following = self._memory, self._following
        if memory is None or memory.channel is None or following is None:
            return None
        return memory.channel, following

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the client that more should wait in the stream."""
        return self._socket.is_behind

    async def caught_up(self) -> None:
        """Come back when little waits for the client, or it is gone."""
        await self._socket.caught_up()

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        self._socket.write(frame)

    def hear(self, message: Message, frame: bytes) -> None:
        """Take a message to the room: kept until the join is answered, passed over if it may not be read."""
        if self._held is not None:
            self._held_bytes += len(frame)
            if len(self._held) < _MOST_HELD and self._held_bytes < _MOST_HELD_BYTES:
                self._held.append((message, frame))
        elif self._channel.rights.broadcast and message.id not in self._replayed:
            self._socket.write(frame)

    def show(self, state: bytes) -> None:
        """Send the state of presence."""
        self._tell("presence_state", state)

    def leave(self, *, has_left: bool = False) -> None:
        """Give up everything; nothing is told. The socket may be gone. `has_left`: the client wanted it so."""
        channel, house = self._channel, self._house
        channel.state = State.CLOSED
        is_private = channel.join.is_private
        house.hub.leave(self, channel.name, is_private=is_private)
        house.tracker.leave(self, channel.name, is_private=is_private)
        if self._following is not None:
            self._following.close()
        if self._memory is not None:
            self._memory.end(has_left=has_left or channel.has_left)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    # What the machine says

    def _act(self, actions: list[Action]) -> None:
        try:
            for action in actions:
                self._do(action)
        except Exception as error:  # the rim of a channel
            self._crash(error)

    def _crash(self, error: Exception) -> None:
        observe(SocketCrashed(traceback_of(error)))
        self._tell("phx_error", b"{}")
        self.leave()
        self._socket.forget(self)

    def _do(self, action: Action) -> None:
        channel = self._channel
        is_private = channel.join.is_private
        match action:
            case Reply():
                self._reply(action)
            case Tell(event, payload):
                self._tell(event, payload)
            case Broadcast(message, to_self):
                self._house.hub.send(message, None if to_self else self)
            case Track(meta):
                key = channel.join.presence_key
                if self._house.tracker.has_room(self, channel.name, key, meta, is_private=is_private):
                    self._house.tracker.track(self, channel.name, key, meta, is_private=is_private)
                else:
                    self.stop("Too many presences in this Channel")
            case Untrack():
                self._house.tracker.untrack(self, channel.name, is_private=is_private)
            case Replay(messages):
                self._replay(messages)
            case Enabled(with_state):
                self._enable(with_state)
            case Follow():
                self._follow()
            case Renew():
                self._renew()
            case Close():
                self._socket.write(frames.close(self.vsn, self.topic, channel.join_ref))
            case Leave():
                self.leave()
                self._socket.forget(self)
            case _:
                self._task = asyncio.get_running_loop().create_task(self._answer(action))

    def _reply(self, reply: Reply) -> None:
        join_ref = self._channel.join_ref if reply.join_ref is None else reply.join_ref
        frame = frames.reply(self.vsn, self.topic, join_ref, reply.ref, reply.status, reply.response)
        if reply.is_slow:
            self._slow = asyncio.get_running_loop().create_task(self._reply_slowly(frame))
        else:
            self._socket.write(frame)

    async def _reply_slowly(self, frame: bytes) -> None:
        await self._house.brake.wait()
        self._socket.write(frame)

    def _tell(self, event: str, payload: bytes) -> None:
        self._socket.write(frames.push(self.vsn, self.topic, self._channel.join_ref, event, payload))

    def _replay(self, messages: tuple[Replayed, ...]) -> None:
        self._replayed = frozenset(each.id for each in messages)
        for each in messages:
            form = Form.BINARY if each.is_binary else Form.JSON
            message = Message(
                self._channel.name, True, each.event, each.payload, form, each.id, is_replayed=True
            )
            if (frame := message.frame(self.vsn)) is not None:
                self._socket.write(frame)

    def _enable(self, with_state: bool) -> None:
        """Take part in the room; what was sent to it during the join comes now."""
        channel = self._channel
        held, self._held = self._held, None
        if channel.has_presence:
            self._house.tracker.enter(self, channel.name, is_private=channel.join.is_private, sees=with_state)
        for message, frame in held or ():
            self.hear(message, frame)
        self._look_later()

    def _follow(self) -> None:
        join, positions = self._channel.join, self._house.positions
        if positions.is_on and join.changes and join.resume is None and not join.resume_error:
            self._memory = ChannelMemory(positions, self._client())
        self._following = Following(
            self,
            self._house.feed,
            self._channel.identity,
            join.changes,
            join.resume,
            join.resume_error,
            is_old=join.is_old,
            memory=self._memory,
        )

    def _client(self) -> bytes:
        channel, socket = self._channel, self._socket
        visitor = (str(self.vsn), socket.user_agent)
        return recognize(channel.identity, channel.join, self.topic, visitor, socket.address)

    def _renew(self) -> None:
        if self._following is not None:
            self._following.renew(self._channel.identity)
        if self._memory is not None:
            self._memory.rename(self._client())
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        pause = self._channel.next_look(time.time())
        self._timer = None if pause is None else asyncio.get_running_loop().call_later(pause, self._look)

    def _look(self) -> None:
        self._act(self._channel.look(time.time()))
        if self._channel.state is not State.CLOSED:
            self._look_later()

    # Questions

    async def _answer(self, question: Action) -> None:
        try:
            match question:
                case Verify(token):
                    actions = self._channel.identified(await self._verify(token))
                case Admit():
                    actions = await self._admit()
                case ReadAgain(identity):
                    actions = self._channel.reads_again(await self._rights_again(identity))
                case AskWrite(extension):
                    actions = self._channel.may_write(extension, await self._may_write(extension))
                case _:
                    raise AssertionError(question)
            self._act(actions)
        except Exception as error:  # the rim of a channel
            self._crash(error)

    async def _verify(self, token: str) -> Identity | TokenRefused:
        try:
            return await self._house.tokens.read(token, time.time())
        except TokenRefused as refused:
            return refused

    async def _admit(self) -> list[Action]:
        channel, join = self._channel, self._channel.join
        await self._house.hub.enter(self, channel.name, is_private=join.is_private)
        if channel.state is State.CLOSED:
            self.leave()
            return []
        if not join.is_private:
            return channel.admitted(Rights())
        try:
            rights = await self._rights(channel.identity, with_replay=True)
        except ApiError:
            return channel.not_admitted(_NO_DATABASE)
        except Refused:
            return channel.not_admitted(_UNKNOWN)
        return channel.admitted(rights)

    async def _rights(self, identity: Identity, *, with_replay: bool = False) -> Rights:
        join = self._channel.join
        return await self._house.questions.rights(
            self._channel.name,
            identity,
            self._socket.headers,
            with_presence=True,
            replay=join.replay if with_replay else None,
        )

    async def _rights_again(self, identity: Identity) -> Rights | None:
        return await _given(self._rights(identity))

    async def _may_write(self, extension: Extension) -> bool | None:
        name, identity, headers = self._channel.name, self._channel.identity, self._socket.headers
        return await _given(self._house.questions.may_write(name, identity, headers, extension))


async def _given(asked: Awaitable[T]) -> T | None:
    """Give an answer; None if nobody can say."""
    try:
        return await asked
    except (ApiError, Refused):
        return None
