"""What the state machine of a channel orders: checks that need an answer, and effects. Data only.

`machine.py` makes actions, `session.py` carries them out in order.
"""

from dataclasses import dataclass, field
from typing import Literal

from schemas.realtime import ReplayedMessage
from services.realtime.protocol.frames import Ref
from services.realtime.tokens import RealtimeIdentity
from services.realtime.topics.messages import TopicMessage

Extension = Literal["broadcast", "presence"]


@dataclass(frozen=True, slots=True)
class ReadRights:
    """What a client may read of a channel, and the stored messages that it requested."""

    broadcast: bool = True
    presence: bool = True
    replayed: tuple[ReplayedMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """Check: the identity of this token. Answer: `token_checked`."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class JoinCheck:
    """Check: join the topic and query what may be read. Answer: `join_allowed` or `join_failed`."""


@dataclass(frozen=True, slots=True)
class ReadCheck:
    """Check: what this new identity may read. Answer: `read_checked`."""

    identity: RealtimeIdentity


@dataclass(frozen=True, slots=True)
class WriteCheck:
    """Check: whether the client may send. Answer: `write_checked`."""

    extension: Extension


@dataclass(frozen=True, slots=True)
class PushReply:
    """Reply to a push. Without a join reference the channel's own is used. `is_slow` delays the reply (`RejectionDelay`)."""

    ref: Ref
    status: str
    response: bytes
    join_ref: Ref = None
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class ServerPush:
    """Send the client a message of the channel."""

    event: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class MessageReplay:
    """Send stored messages. From now on live messages with the same ids are left out."""

    messages: tuple[ReplayedMessage, ...]


@dataclass(frozen=True, slots=True)
class TopicStart:
    """Take part in the topic from now on, as the rights and the presence option of the channel say."""

    with_state: bool = False
    """Send the state of presence, too."""


@dataclass(frozen=True, slots=True)
class BroadcastSend:
    """Send a message to the topic; to the sender only if `to_self`."""

    message: TopicMessage
    to_self: bool


@dataclass(frozen=True, slots=True)
class PresenceTrack:
    """Set the presence of the client (JSON object); an earlier one is replaced."""

    meta: bytes


@dataclass(frozen=True, slots=True)
class PresenceUntrack:
    """Remove the presence of the client."""


@dataclass(frozen=True, slots=True)
class ChangesStart:
    """Subscribe to the row changes of the join."""


@dataclass(frozen=True, slots=True)
class IdentityChange:
    """Use the new identity for row changes and for the time of the next token check."""


@dataclass(frozen=True, slots=True)
class ChannelClose:
    """Send the client `phx_close`."""


@dataclass(frozen=True, slots=True)
class ChannelEnd:
    """The channel is closed: leave the topic, remove the presence, end the row changes."""


Check = TokenCheck | JoinCheck | ReadCheck | WriteCheck
Action = (
    Check | PushReply | ServerPush | MessageReplay | TopicStart | BroadcastSend | PresenceTrack | PresenceUntrack
    | ChangesStart | IdentityChange | ChannelClose | ChannelEnd
)  # fmt: skip
