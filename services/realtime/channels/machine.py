"""One channel of a socket as a state machine: events in, actions out. Pure.

    JOINING   start -> TokenCheck -> token_checked -> JoinCheck -> join_allowed -> the reply, and all that follows a join
    JOINED    pushes of the client; the client may replace its token, and the token is checked again while it is valid
    CLOSED    nothing more

Theory. A check (`TokenCheck`, `JoinCheck`, `ReadCheck`, `WriteCheck`) is answered later by another component. Until then the
channel is busy and queues what its client sends. So a channel has at most one open check, and the messages of a client keep
their order. The time is an argument, in seconds since 1970. The session (`session.py`) carries out the actions in their order
and passes the answers back.
Source: docs/reference/realtime.md, sections 3 to 8.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

import msgspec

from services.realtime.channels.actions import (
    Action,
    BroadcastSend,
    ChangesStart,
    ChannelClose,
    ChannelEnd,
    Extension,
    IdentityChange,
    JoinCheck,
    MessageReplay,
    PresenceTrack,
    PresenceUntrack,
    PushReply,
    ReadCheck,
    ReadRights,
    ServerPush,
    TokenCheck,
    TopicStart,
    WriteCheck,
)
from services.realtime.channels.payloads import read_members, read_object, read_string, system_payload
from services.realtime.limits import TokenBucket
from services.realtime.protocol.frames import TOPIC_PREFIX, Push, Ref, UserPush
from services.realtime.protocol.join import JoinRequest
from services.realtime.tokens import RealtimeIdentity, RealtimeTokenRejected, expired_text
from services.realtime.topics.messages import PayloadForm, TopicMessage
from services.realtime.topics.presence import is_object

_MOST_WAITING = 1000
_MOST_WAITING_BYTES = 16_000_000
_SPARE = 500
"""Bytes of a push that are not the payload of its broadcast."""
_CHECK_AGAIN_S = 300.0
_EMPTY = b"{}"
_json = msgspec.json.encode


class ChannelState(Enum):
    """The state of a channel."""

    JOINING = auto()
    JOINED = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """Limits and defaults of one channel."""

    max_payload: int = 3_000_000
    max_presence: int = 512 * 1024
    presence_calls: float = 0.0
    """Presence messages a second, on average over 30 s; 0: unlimited."""
    has_presence: bool = False
    """Presence is on if the join does not say."""


class ChannelMachine:
    """A channel from its join to its end."""

    def __init__(
        self,
        topic: str,
        join_ref: Ref,
        join: JoinRequest,
        identity: RealtimeIdentity,
        limits: ChannelLimits,
        ref: Ref,
    ) -> None:
        self.topic = topic
        """As the client joined it: `realtime:<name>`."""
        self.name = topic.removeprefix(TOPIC_PREFIX)
        self.join_ref = join_ref
        self._ref = ref
        self.join = join
        self.identity = identity
        """At first the identity of the connection."""
        self.state = ChannelState.JOINING
        self.has_left = False
        """The client left the channel (`phx_leave`)."""
        self.rights = ReadRights()
        self.has_presence = limits.has_presence if join.presence is None else join.presence
        self._limits = limits
        self._may_write: dict[Extension, bool] = {}
        self._is_busy = False
        self._after_write: Push | UserPush | None = None
        self._new_identity: RealtimeIdentity | None = None
        self._waiting: deque[Push | UserPush] = deque()
        self._waiting_bytes = 0
        self._presence_rate = TokenBucket(limits.presence_calls, 30.0)
        self._meta: bytes | None = None

    # Events

    def start(self) -> list[Action]:
        """Start the join: the token is checked first."""
        if not self.name:
            return self._reject("TopicNameRequired: You must provide a topic name")
        token = self.join.token or self.identity.token
        return self._check(TokenCheck(token)) if token else self.token_checked(self.identity)

    def token_checked(self, answer: RealtimeIdentity | RealtimeTokenRejected) -> list[Action]:
        """Handle the identity of a token, or its rejection."""
        self._is_busy = False
        if self.state is ChannelState.CLOSED:
            return []
        if isinstance(answer, RealtimeTokenRejected):
            if self.state is ChannelState.JOINING:
                return self._reject(answer.reason, is_slow=True)
            return self._close(answer.text)
        if self.state is ChannelState.JOINING:
            return self._check_join(answer)
        if answer.token == self.identity.token:  # the same token was checked again
            return self._continue()
        self._may_write.clear()
        if self.join.is_private:
            self._new_identity = answer
            return self._check(ReadCheck(answer))
        self.identity = answer
        return [IdentityChange(), *self._continue()]

    def join_allowed(self, rights: ReadRights) -> list[Action]:
        """Handle what the client may read: complete the join."""
        self._is_busy = False
        if self.state is not ChannelState.JOINING:
            return []
        if self.join.is_private and not (rights.broadcast or rights.presence):
            return self._reject(self._unauthorized(), is_slow=True)
        if self.join.replay is not None and not rights.broadcast:
            return self._reject(self._unauthorized(), is_slow=True)
        if self.join.replay is not None and not self.join.replay.is_valid:
            return self._reject("UnableToReplayMessages: Replay params are not valid")
        self.rights = rights
        self.state = ChannelState.JOINED
        changes = [] if self.join.is_old else [requested.reply() for requested in self.join.changes]
        actions: list[Action] = [PushReply(self._ref, "ok", _json({"postgres_changes": changes}))]
        if rights.replayed:
            actions.append(MessageReplay(rights.replayed))
        actions.append(TopicStart(with_state=self.has_presence and rights.presence))
        if self.join.wants_replication_ready:
            actions.append(self._system("system", "ok", "Replication connection established"))
        if self.join.changes or self.join.resume_error:
            actions.append(ChangesStart())
        return [*actions, *self._continue()]

    def join_failed(self, reason: str) -> list[Action]:
        """Handle a join check that could not be answered: reject the join."""
        self._is_busy = False
        return self._reject(reason) if self.state is ChannelState.JOINING else []

    def read_checked(self, rights: ReadRights | None) -> list[Action]:
        """Handle what the new token may read. None: the check could not be answered, so the channel is closed."""
        self._is_busy = False
        if self.state is ChannelState.CLOSED or self._new_identity is None:
            return []
        self.identity, self._new_identity = self._new_identity, None
        if rights is None or not (rights.broadcast or rights.presence):
            return self._close(f"You no longer have permission to read from this Channel topic: {self.name}")
        is_changed = self.has_presence and rights.presence is not self.rights.presence
        self.rights = rights
        start: list[Action] = [TopicStart(with_state=rights.presence)] if is_changed else []
        return [*start, IdentityChange(), *self._continue()]

    def write_checked(self, extension: Extension, is_allowed: bool | None) -> list[Action]:
        """Handle whether the client may send. None: the check could not be answered; the message is dropped, and the next one
        causes another check.
        """
        self._is_busy = False
        if self.state is ChannelState.CLOSED:
            return []
        push, self._after_write = self._after_write, None
        actions: list[Action] = []
        if is_allowed is not None:
            self._may_write[extension] = is_allowed
            if push is not None:
                actions = self._take(push)
        return [*actions, *self._continue()]

    def push(self, push: Push | UserPush, now: float) -> list[Action]:
        """Handle a message of the client; it waits while a check is open."""
        if self.state is ChannelState.CLOSED:
            return []
        if push.event == "presence" and isinstance(push, Push) and not self._presence_rate.take(now):
            return self._close("Client presence rate limit exceeded")
        if self._is_busy:
            self._waiting.append(push)
            self._waiting_bytes += len(push.payload)
            if len(self._waiting) > _MOST_WAITING or self._waiting_bytes > _MOST_WAITING_BYTES:
                return self._close("Too many messages per second")
            return []
        return self._take(push)

    def check_token(self, now: float) -> list[Action]:
        """Close the channel if the token expired, else check it again (`next_token_check` says when)."""
        if self.state is not ChannelState.JOINED:
            return []
        if self.identity.expires_at <= now:
            return self._close(expired_text(self.identity.expires_at, now))
        if self._is_busy or not self.identity.token:
            return []
        return self._check(TokenCheck(self.identity.token))

    def next_token_check(self, now: float) -> float | None:
        """Return in how many seconds `check_token` is due; None if the identity came without a token, and so cannot expire."""
        if not self.identity.token or self.state is ChannelState.CLOSED:
            return None
        return max(min(_CHECK_AGAIN_S, self.identity.expires_at - now), 0.0)

    def stop(
        self, message: str, *, extension: Literal["system", "postgres_changes"] = "system"
    ) -> list[Action]:
        """Close the channel from the server's side, with a message."""
        return self._close(message, extension) if self.state is not ChannelState.CLOSED else []

    def replaced(self) -> list[Action]:
        """Close the channel because the client joins the same topic again."""
        return self._end(ChannelClose()) if self.state is not ChannelState.CLOSED else []

    # Messages of the client

    def _take(self, push: Push | UserPush) -> list[Action]:
        if isinstance(push, UserPush):
            return self._broadcast(push)
        match push.event:
            case "phx_leave":
                self.has_left = True
                return self._end(PushReply(push.ref, "ok", _EMPTY, push.join_ref), ChannelClose())
            case "access_token":
                return self._new_token(push)
            case "broadcast":
                return self._broadcast(push)
            case "presence":
                return self._presence(push)
        return []

    def _new_token(self, push: Push) -> list[Action]:
        token = read_object(push.payload).get("access_token")
        if not isinstance(token, str) or token.startswith("sb_") or token == self.identity.token:
            return []
        return self._check(TokenCheck(token))

    def _broadcast(self, push: Push | UserPush) -> list[Action]:
        if len(push.payload) > self._limits.max_payload + _SPARE:
            return self._acknowledge(push, "error", b'"payload_size_exceeded"')
        if self.join.is_private:
            is_allowed = self._may_write.get("broadcast")
            if is_allowed is None:
                return self._check_write(push, "broadcast")
            if not is_allowed:
                return []
        send = BroadcastSend(self._message(push), self.join.has_self)
        return [send, *self._acknowledge(push, "ok", _EMPTY)]

    def _message(self, push: Push | UserPush) -> TopicMessage:
        if isinstance(push, UserPush):
            form = PayloadForm.JSON if push.is_json else PayloadForm.BINARY
            return TopicMessage(self.name, self.join.is_private, push.event, push.payload, form)
        return TopicMessage(self.name, self.join.is_private, "", push.payload, PayloadForm.CLIENT_TEXT)

    def _acknowledge(self, push: Push | UserPush, status: str, response: bytes) -> list[Action]:
        """Reply to a broadcast if the join asked for acknowledgements."""
        return [PushReply(push.ref, status, response, push.join_ref)] if self.join.has_ack else []

    def _presence(self, push: Push) -> list[Action]:
        members = read_members(push.payload)
        kind = read_string(members.get("event")).lower()
        if kind not in ("track", "untrack"):
            return [PushReply(push.ref, "error", b'{"reason":"Unknown presence event"}', push.join_ref)]
        if kind == "untrack":
            before, self._meta = self._meta, None
            untrack: list[Action] = [PresenceUntrack()] if before is not None else []
            return [*untrack, PushReply(push.ref, "ok", _EMPTY, push.join_ref)]
        meta = bytes(members.get("payload", _EMPTY))
        if not is_object(meta):
            reason = _json({"reason": "Presence track payload must be a map"})
            return [PushReply(push.ref, "error", reason, push.join_ref)]
        if len(meta) > self._limits.max_presence:
            return self._close("Track message size exceeded")
        if self.join.is_private:
            is_allowed = self._may_write.get("presence")
            if is_allowed is None:
                return self._check_write(push, "presence")
            if not is_allowed:
                return [PushReply(push.ref, "error", _EMPTY, push.join_ref)]
        return self._track(push, meta)

    def _track(self, push: Push, meta: bytes) -> list[Action]:
        actions: list[Action] = []
        if not self.has_presence:
            self.has_presence = True
            actions.append(TopicStart(with_state=self.rights.presence))
        if meta != self._meta:
            self._meta = meta
            actions.append(PresenceTrack(meta))
        return [*actions, PushReply(push.ref, "ok", _EMPTY, push.join_ref)]

    # Checks and the end

    def _check_join(self, identity: RealtimeIdentity) -> list[Action]:
        self.identity = identity
        if self.join.replay is not None and not self.join.is_private:
            return self._reject("UnableToReplayMessages: Replay is not allowed for public channels")
        return self._check(JoinCheck())

    def _check(self, check: Action) -> list[Action]:
        self._is_busy = True
        return [check]

    def _check_write(self, push: Push | UserPush, extension: Extension) -> list[Action]:
        self._after_write = push
        return self._check(WriteCheck(extension))

    def _continue(self) -> list[Action]:
        """Handle the messages that waited, until one of them needs a check."""
        actions: list[Action] = []
        while self._waiting and not self._is_busy and self.state is ChannelState.JOINED:
            push = self._waiting.popleft()
            self._waiting_bytes -= len(push.payload)
            actions += self._take(push)
        return actions

    def _unauthorized(self) -> str:
        return f"Unauthorized: You do not have permissions to read from this Channel topic: {self.name}"

    def _reject(self, reason: str, *, is_slow: bool = False) -> list[Action]:
        """Reject the join."""
        return self._end(PushReply(self._ref, "error", _json({"reason": reason}), is_slow=is_slow))

    def _close(
        self, message: str, extension: Literal["system", "postgres_changes"] = "system"
    ) -> list[Action]:
        """Close the channel after a `system` message."""
        return self._end(self._system(extension, "error", message), ChannelClose())

    def _end(self, *last: Action) -> list[Action]:
        self.state = ChannelState.CLOSED
        self._waiting.clear()
        return [*last, ChannelEnd()]

    def _system(self, extension: str, status: str, message: str) -> Action:
        return ServerPush("system", system_payload(self.name, extension, status, message))
