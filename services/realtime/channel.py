"""One channel of a socket as a state machine: what happens to it in, what is to be done out. Pure.

    JOINING   begin -> Verify -> identified -> Admit -> admitted -> the reply, then everything that follows a join
    JOINED    pushes of the client; its token may be replaced, and is looked at again while it lasts
    CLOSED    nothing more

Theory. A question (`Verify`, `Admit`, `ReadAgain`, `AskWrite`) needs somebody else to answer it; while it is open the
channel is busy, and what its client sends waits in order. So a channel never has two questions open, and its client sees
its own order. The time is an argument, in seconds since 1970.
Whoever drives the machine (`seat.py`) does what the actions say, in their order, and brings the answers back.
Source: reference page "realtime", sections 3 to 8.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Literal

import msgspec

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
from services.realtime.frames import Push, Ref, UserPush
from services.realtime.join import Join
from services.realtime.limits import Rate
from services.realtime.presence import is_object
from services.realtime.rooms import PREFIX, Form, Message
from services.realtime.tokens import Identity, TokenRefused, expired_text

_MOST_WAITING = 1000
_MOST_WAITING_BYTES = 16_000_000
_SPARE = 500
_LOOK_AGAIN_S = 300.0
_EMPTY = b"{}"
_json = msgspec.json.encode


class State(Enum):
    """Where a channel stands."""

    JOINING = auto()
    JOINED = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one channel may do."""

    max_payload: int = 3_000_000
    max_presence: int = 512 * 1024
    presence_calls: float = 0.0
    """Calls of presence a second, on average over 30 s; 0 is no limit."""
    has_presence: bool = False
    """Presence is on for those who do not say."""


class Channel:
    """A channel from its join to its end."""

    def __init__(
        self, topic: str, join_ref: Ref, join: Join, identity: Identity, bounds: Bounds, ref: Ref
    ) -> None:
        self.topic = topic
        """As the client joined it: `realtime:<name>`."""
        self.name = topic.removeprefix(PREFIX)
        self.join_ref = join_ref
        self._ref = ref
        self.join = join
        self.identity = identity
        """At first that of the connection."""
        self.state = State.JOINING
        self.has_left = False
        """Its client left it (`phx_leave`)."""
        self.rights = Rights()
        self.has_presence = bounds.has_presence if join.presence is None else join.presence
        self._bounds = bounds
        self._may_write: dict[Extension, bool] = {}
        self._is_busy = False
        self._after_write: Push | UserPush | None = None
        self._new_identity: Identity | None = None
        self._waiting: deque[Push | UserPush] = deque()
        self._waiting_bytes = 0
        self._presence_rate = Rate(bounds.presence_calls, 30.0)
        self._meta: bytes | None = None

    # What happens

    def begin(self) -> list[Action]:
        """Join: the token first."""
        if not self.name:
            return self._refuse("TopicNameRequired: You must provide a topic name")
        token = self.join.token or self.identity.token
        return self._ask(Verify(token)) if token else self.identified(self.identity)

    def identified(self, found: Identity | TokenRefused) -> list[Action]:
        """Hear whose token it is."""
        self._is_busy = False
        if self.state is State.CLOSED:
            return []
        if isinstance(found, TokenRefused):
            if self.state is State.JOINING:
                return self._refuse(found.reason, is_slow=True)
            return self._end(found.text)
        if self.state is State.JOINING:
            return self._admit(found)
        if found.token == self.identity.token:  # looked at once more
            return self._go_on()
        self._may_write.clear()
        if self.join.is_private:
            self._new_identity = found
            return self._ask(ReadAgain(found))
        self.identity = found
        return [Renew(), *self._go_on()]

    def admitted(self, rights: Rights) -> list[Action]:
        """Hear what may be read."""
        self._is_busy = False
        if self.state is not State.JOINING:
            return []
        if self.join.is_private and not (rights.broadcast or rights.presence):
            return self._refuse(
                f"Unauthorized: You do not have permissions to read from this Channel topic: {self.name}",
                is_slow=True,
            )
        if self.join.replay is not None and not rights.broadcast:
            return self._refuse(
                f"Unauthorized: You do not have permissions to read from this Channel topic: {self.name}",
                is_slow=True,
            )
        self.rights = rights
        self.state = State.JOINED
        changes = [] if self.join.is_old else [wanted.reply() for wanted in self.join.changes]
        actions: list[Action] = [Reply(self._ref, "ok", _json({"postgres_changes": changes}))]
        if rights.replayed:
            actions.append(Replay(rights.replayed))
        actions.append(Enabled(with_state=self.has_presence and rights.presence))
        if self.join.wants_replication_ready:
            actions.append(self._system("system", "ok", "Replication connection established"))
        if self.join.changes or self.join.resume_error:
            actions.append(Follow())
        return [*actions, *self._go_on()]

    def not_admitted(self, reason: str) -> list[Action]:
        """Hear that nobody can say whether the channel may be joined."""
        self._is_busy = False
        return self._refuse(reason) if self.state is State.JOINING else []

    def reads_again(self, rights: Rights | None) -> list[Action]:
        """Hear what may be read with the new token; None if nobody can say: then nothing more may be."""
        self._is_busy = False
        if self.state is State.CLOSED or self._new_identity is None:
            return []
        self.identity, self._new_identity = self._new_identity, None
        if rights is None or not (rights.broadcast or rights.presence):
            return self._end(f"You no longer have permission to read from this Channel topic: {self.name}")
        is_other = self.has_presence and rights.presence is not self.rights.presence
        self.rights = rights
        enabled: list[Action] = [Enabled(with_state=rights.presence)] if is_other else []
        return [*enabled, Renew(), *self._go_on()]

    def may_write(self, extension: Extension, is_allowed: bool | None) -> list[Action]:
        """Hear whether the client may send; None if nobody can say, then this message is dropped and asked for again."""
        self._is_busy = False
        if self.state is State.CLOSED:
            return []
        held, self._after_write = self._after_write, None
        actions: list[Action] = []
        if is_allowed is not None:
            self._may_write[extension] = is_allowed
            if held is not None:
                actions = self._take(held)
        return [*actions, *self._go_on()]

    def push(self, push: Push | UserPush, now: float) -> list[Action]:
        """Hear what the client sends."""
        if self.state is State.CLOSED:
            return []
        if push.event == "presence" and isinstance(push, Push) and not self._presence_rate.take(now):
            return self._end("Client presence rate limit exceeded")
        if self._is_busy:
            self._waiting.append(push)
            self._waiting_bytes += len(push.payload)
            if len(self._waiting) > _MOST_WAITING or self._waiting_bytes > _MOST_WAITING_BYTES:
                return self._end("Too many messages per second")
            return []
        return self._take(push)

    def look(self, now: float) -> list[Action]:
        """Look whether the token still holds (`next_look`)."""
        if self.state is not State.JOINED:
            return []
        if self.identity.expires_at <= now:
            return self._end(expired_text(self.identity.expires_at, now))
        if self._is_busy or not self.identity.token:
            return []
        return self._ask(Verify(self.identity.token))

    def next_look(self, now: float) -> float | None:
        """Give in how many seconds `look` is due; None where a token cannot end."""
        if not self.identity.token or self.state is State.CLOSED:
            return None
        return max(min(_LOOK_AGAIN_S, self.identity.expires_at - now), 0.0)

    def stop(
        self, message: str, *, extension: Literal["system", "postgres_changes"] = "system"
    ) -> list[Action]:
        """End it from our side, with a message."""
        return self._end(message, extension) if self.state is not State.CLOSED else []

    def replaced(self) -> list[Action]:
        """End it because the client joins the same topic anew."""
        return self._over(Close()) if self.state is not State.CLOSED else []

    # What the client sends

    def _take(self, push: Push | UserPush) -> list[Action]:
        if isinstance(push, UserPush):
            return self._broadcast(push)
        match push.event:
            case "phx_leave":
                self.has_left = True
                return self._over(Reply(push.ref, "ok", _EMPTY, push.join_ref), Close())
            case "access_token":
                return self._new_token(push)
            case "broadcast":
                return self._broadcast(push)
            case "presence":
                return self._presence(push)
        return []

    def _new_token(self, push: Push) -> list[Action]:
        found = _object(push.payload).get("access_token")
        if not isinstance(found, str) or found.startswith("sb_") or found == self.identity.token:
            return []
        return self._ask(Verify(found))

    def _broadcast(self, push: Push | UserPush) -> list[Action]:
        if len(push.payload) > self._bounds.max_payload + _SPARE:
            return self._answer(push, "error", b'"payload_size_exceeded"')
        if self.join.is_private:
            allowed = self._may_write.get("broadcast")
            if allowed is None:
                return self._ask_write(push, "broadcast")
            if not allowed:
                return []
        return [Broadcast(self._message(push), self.join.has_self), *self._answer(push, "ok", _EMPTY)]

    def _message(self, push: Push | UserPush) -> Message:
        if isinstance(push, UserPush):
            form = Form.JSON if push.is_json else Form.BINARY
            return Message(self.name, self.join.is_private, push.event, push.payload, form)
        return Message(self.name, self.join.is_private, "", push.payload, Form.WHOLE)

    def _answer(self, push: Push | UserPush, status: str, response: bytes) -> list[Action]:
        return [Reply(push.ref, status, response, push.join_ref)] if self.join.has_ack else []

    def _presence(self, push: Push) -> list[Action]:
        told = _raw_object(push.payload)
        kind = _text(told.get("event")).lower()
        if kind not in ("track", "untrack"):
            return [Reply(push.ref, "error", b'{"reason":"Unknown presence event"}', push.join_ref)]
        if kind == "untrack":
            had, self._meta = self._meta, None
            untrack: list[Action] = [Untrack()] if had is not None else []
            return [*untrack, Reply(push.ref, "ok", _EMPTY, push.join_ref)]
        meta = bytes(told.get("payload", _EMPTY))
        if not is_object(meta):
            reason = _json({"reason": "Presence track payload must be a map"})
            return [Reply(push.ref, "error", reason, push.join_ref)]
        if len(meta) > self._bounds.max_presence:
            return self._end("Track message size exceeded")
        if self.join.is_private:
            allowed = self._may_write.get("presence")
            if allowed is None:
                return self._ask_write(push, "presence")
            if not allowed:
                return [Reply(push.ref, "error", _EMPTY, push.join_ref)]
        return self._track(push, meta)

    def _track(self, push: Push, meta: bytes) -> list[Action]:
        actions: list[Action] = []
        if not self.has_presence:
            self.has_presence = True
            actions.append(Enabled(with_state=self.rights.presence))
        if meta != self._meta:
            self._meta = meta
            actions.append(Track(meta))
        return [*actions, Reply(push.ref, "ok", _EMPTY, push.join_ref)]

    # What is done

    def _admit(self, identity: Identity) -> list[Action]:
        self.identity = identity
        replay = self.join.replay
        if replay is not None and not self.join.is_private:
            return self._refuse("UnableToReplayMessages: Replay is not allowed for public channels")
        if replay is not None and not replay.is_valid:
            return self._refuse("UnableToReplayMessages: Replay params are not valid")
        return self._ask(Admit())

    def _ask(self, question: Action) -> list[Action]:
        self._is_busy = True
        return [question]

    def _ask_write(self, push: Push | UserPush, extension: Extension) -> list[Action]:
        self._after_write = push
        return self._ask(AskWrite(extension))

    def _go_on(self) -> list[Action]:
        """Take what waited, as far as no new question is opened."""
        actions: list[Action] = []
        while self._waiting and not self._is_busy and self.state is State.JOINED:
            push = self._waiting.popleft()
            self._waiting_bytes -= len(push.payload)
            actions += self._take(push)
        return actions

    def _refuse(self, reason: str, *, is_slow: bool = False) -> list[Action]:
        refused = Reply(self._ref, "error", _json({"reason": reason}), is_slow=is_slow)
        return self._over(refused)

    def _end(self, message: str, extension: Literal["system", "postgres_changes"] = "system") -> list[Action]:
        return self._over(self._system(extension, "error", message), Close())

    def _over(self, *last: Action) -> list[Action]:
        self.state = State.CLOSED
        self._waiting.clear()
        return [*last, Leave()]

    def _system(self, extension: str, status: str, message: str) -> Action:
        return Tell("system", system_payload(self.name, extension, status, message))


def system_payload(name: str, extension: str, status: str, message: str, **more: str) -> bytes:
    """Give the payload of a `system` message; `more` are members of ours."""
    return _json({"extension": extension, "status": status, "message": message, "channel": name, **more})


def _object(payload: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_read_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _raw_object(payload: bytes) -> dict[str, msgspec.Raw]:
    try:
        return _read_raw(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def _text(raw: msgspec.Raw | None) -> str:
    try:
        return msgspec.json.decode(raw, type=str) if raw is not None else ""
    except (msgspec.DecodeError, UnicodeError):
        return ""
