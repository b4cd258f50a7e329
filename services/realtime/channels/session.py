"""One channel of one socket: carries out the actions of its state machine (`machine.py`) and passes answers back to it.

One task at a time stands for the open check of the channel. If our own code fails, this channel ends with `phx_error`, after
which its client joins it again; the socket and its other channels continue.
"""

import asyncio
import time
from typing import Protocol

from broker.observability.observe import observe, traceback_of
from schemas.changes import Position
from schemas.realtime import ReplayedMessage
from services.realtime.channels.actions import (
    Action,
    BroadcastSend,
    ChangesStart,
    ChannelClose,
    ChannelEnd,
    Check,
    IdentityChange,
    MessageReplay,
    PresenceTrack,
    PresenceUntrack,
    PushReply,
    ServerPush,
    TopicStart,
)
from services.realtime.channels.checks import ChannelChecks
from services.realtime.channels.client_positions import (
    ChangeProgress,
    ChannelMemory,
    RememberedChannel,
    recognize,
)
from services.realtime.channels.machine import ChannelMachine, ChannelState
from services.realtime.channels.payloads import system_payload
from services.realtime.channels.row_changes import ChannelChanges
from services.realtime.channels.services import ChannelServices
from services.realtime.observations import SocketCrashed
from services.realtime.protocol import frames
from services.realtime.protocol.frames import Push, UserPush, Vsn
from services.realtime.topics.messages import PayloadForm, TopicMessage

_MOST_HELD = 1000
_MOST_HELD_BYTES = 16_000_000


class ChannelSocket(Protocol):
    """The socket of a channel."""

    vsn: Vsn
    headers: dict[str, str]
    address: str
    user_agent: str

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        ...

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        ...

    def remove(self, session: "ChannelSession") -> None:
        """Remove a channel that ended."""
        ...


class ChannelSession:
    """One channel of one socket."""

    def __init__(self, services: ChannelServices, socket: ChannelSocket, machine: ChannelMachine) -> None:
        self.vsn = socket.vsn
        self.topic = machine.topic
        self._services = services
        self._socket = socket
        self._machine = machine
        self._checks = ChannelChecks(services, machine, self, socket.headers)
        self._check: asyncio.Task[None] | None = None
        self._slow_reply: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._changes: ChannelChanges | None = None
        self._memory: ChannelMemory | None = None
        self._held: list[tuple[TopicMessage, bytes]] | None = []
        """Messages that arrived during the join; None after it."""
        self._held_bytes = 0
        self._replayed: frozenset[str] = frozenset()

    @property
    def subscription_count(self) -> int:
        """Return how many subscriptions to row changes its join has."""
        return len(self._machine.join.changes)

    @property
    def join_ref(self) -> frames.Ref:
        """Return the reference of its join."""
        return self._machine.join_ref

    def start(self) -> None:
        """Start the join."""
        self._act(self._machine.start())

    def push(self, push: Push | UserPush) -> None:
        """Handle a message of the client to this channel."""
        self._act(self._machine.push(push, time.time()))

    def stop(self, message: str) -> None:
        """Close the channel from the server's side."""
        self._act(self._machine.stop(message))

    def replaced(self) -> None:
        """Close the channel because the client joins the topic again."""
        self._act(self._machine.replaced())

    def send_system(self, status: str, message: str, **more: str) -> None:
        """Send a `system` message about row changes."""
        payload = system_payload(self._machine.name, "postgres_changes", status, message, **more)
        self._send("system", payload)

    @property
    def position(self) -> Position | None:
        """Return up to where all row changes are sent; None without row changes, or while it is unknown."""
        return None if self._changes is None else self._changes.position

    @property
    def remembered(self) -> tuple[RememberedChannel, ChangeProgress] | None:
        """Return what the client acknowledged and what it was sent; None if positions are not remembered."""
        memory, changes = self._memory, self._changes
        if memory is None or memory.channel is None or changes is None:
            return None
        return memory.channel, changes

    @property
    def is_behind(self) -> bool:
        """Whether the client is so far behind that missed changes should wait in the stream."""
        return self._socket.is_behind

    async def caught_up(self) -> None:
        """Wait until few bytes wait for the client, or the client is gone."""
        await self._socket.caught_up()

    def write(self, frame: bytes) -> None:
        """Send a frame."""
        self._socket.write(frame)

    def receive(self, message: TopicMessage, frame: bytes) -> None:
        """Receive a message of the topic: held until the join is answered, then sent if the client may read it. Hot path."""
        if self._held is not None:
            self._held_bytes += len(frame)
            if len(self._held) < _MOST_HELD and self._held_bytes < _MOST_HELD_BYTES:
                self._held.append((message, frame))
        elif self._machine.rights.broadcast and message.id not in self._replayed:
            self._socket.write(frame)

    def send_presence_state(self, state: bytes) -> None:
        """Send the state of presence."""
        self._send("presence_state", state)

    def release(self, *, has_left: bool = False) -> None:
        """Release everything without a message; the socket may be gone. `has_left`: the client wanted to leave."""
        machine, services = self._machine, self._services
        machine.state = ChannelState.CLOSED
        is_private = machine.join.is_private
        services.hub.leave(self, machine.name, is_private=is_private)
        services.tracker.leave(self, machine.name, is_private=is_private)
        if self._changes is not None:
            self._changes.close()
        if self._memory is not None:
            self._memory.end(has_left=has_left or machine.has_left)
        if self._timer is not None:
            self._timer.cancel()
        if self._check is not None and self._check is not asyncio.current_task():
            self._check.cancel()

    # Actions of the state machine

    def _act(self, actions: list[Action]) -> None:
        try:
            for action in actions:
                self._do(action)
        except Exception as error:  # an error of our own ends this channel only
            self._crash(error)

    def _crash(self, error: Exception) -> None:
        observe(SocketCrashed(traceback_of(error)))
        self._send("phx_error", b"{}")
        self.release()
        self._socket.remove(self)

    def _do(self, action: Action) -> None:
        machine = self._machine
        match action:
            case PushReply():
                self._reply(action)
            case ServerPush(event, payload):
                self._send(event, payload)
            case BroadcastSend(message, to_self):
                self._services.hub.send(message, None if to_self else self)
            case PresenceTrack(meta):
                self._track(meta)
            case PresenceUntrack():
                self._services.tracker.untrack(self, machine.name, is_private=machine.join.is_private)
            case MessageReplay(messages):
                self._replay(messages)
            case TopicStart(with_state):
                self._start_topic(with_state)
            case ChangesStart():
                self._start_changes()
            case IdentityChange():
                self._change_identity()
            case ChannelClose():
                self._socket.write(frames.close(self.vsn, self.topic, machine.join_ref))
            case ChannelEnd():
                self.release()
                self._socket.remove(self)
            case check:
                self._check = asyncio.get_running_loop().create_task(self._answer(check))

    async def _answer(self, check: Check) -> None:
        try:
            self._act(await self._checks.answer(check, time.time()))
        except Exception as error:  # as in `_act`
            self._crash(error)

    def _reply(self, reply: PushReply) -> None:
        join_ref = self._machine.join_ref if reply.join_ref is None else reply.join_ref
        frame = frames.reply(self.vsn, self.topic, join_ref, reply.ref, reply.status, reply.response)
        if reply.is_slow:
            self._slow_reply = asyncio.get_running_loop().create_task(self._reply_slowly(frame))
        else:
            self._socket.write(frame)

    async def _reply_slowly(self, frame: bytes) -> None:
        await self._services.rejection_delay.wait()
        self._socket.write(frame)

    def _send(self, event: str, payload: bytes) -> None:
        self._socket.write(frames.push(self.vsn, self.topic, self._machine.join_ref, event, payload))

    def _track(self, meta: bytes) -> None:
        tracker, name, join = self._services.tracker, self._machine.name, self._machine.join
        if tracker.fits(self, name, join.presence_key, meta, is_private=join.is_private):
            tracker.track(self, name, join.presence_key, meta, is_private=join.is_private)
        else:
            self.stop("Too many presences in this Channel")

    def _replay(self, messages: tuple[ReplayedMessage, ...]) -> None:
        self._replayed = frozenset(stored.id for stored in messages)
        for stored in messages:
            form = PayloadForm.BINARY if stored.is_binary else PayloadForm.JSON
            name = self._machine.name
            message = TopicMessage(
                name, True, stored.event, stored.payload, form, stored.id, is_replayed=True
            )
            if (frame := message.frame(self.vsn)) is not None:
                self._socket.write(frame)

    def _start_topic(self, with_state: bool) -> None:
        """Take part in the topic; messages that arrived during the join are sent now."""
        machine = self._machine
        held, self._held = self._held, None
        if machine.has_presence:
            is_private = machine.join.is_private
            self._services.tracker.join(self, machine.name, is_private=is_private, is_viewer=with_state)
        for message, frame in held or ():
            self.receive(message, frame)
        self._schedule_token_check()

    def _start_changes(self) -> None:
        join, positions = self._machine.join, self._services.positions
        if positions.is_on and join.changes and join.resume is None and not join.resume_error:
            self._memory = ChannelMemory(positions, self._client())
        self._changes = ChannelChanges(
            self,
            self._services.feed,
            self._machine.identity,
            join.changes,
            join.resume,
            join.resume_error,
            is_old=join.is_old,
            memory=self._memory,
        )

    def _client(self) -> bytes:
        """Return what the client is recognized by when it joins again."""
        machine, socket = self._machine, self._socket
        traits = (str(self.vsn), socket.user_agent)
        return recognize(machine.identity, machine.join, self.topic, traits, socket.address)

    def _change_identity(self) -> None:
        if self._changes is not None:
            self._changes.renew(self._machine.identity)
        if self._memory is not None:
            self._memory.change_client(self._client())
        self._schedule_token_check()

    def _schedule_token_check(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        pause_s = self._machine.next_token_check(time.time())
        loop = asyncio.get_running_loop()
        self._timer = None if pause_s is None else loop.call_later(pause_s, self._check_token)

    def _check_token(self) -> None:
        self._act(self._machine.check_token(time.time()))
        if self._machine.state is not ChannelState.CLOSED:
            self._schedule_token_check()
