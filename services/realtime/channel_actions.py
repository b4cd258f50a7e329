"""What a channel asks to be done, and what it hears of its rights. Data only (`channel.py` makes it, `seat.py` does it)."""

from dataclasses import dataclass, field
from typing import Literal

from schemas.realtime import Replayed
from services.realtime.frames import Ref
from services.realtime.rooms import Message
from services.realtime.tokens import Identity

Extension = Literal["broadcast", "presence"]


@dataclass(frozen=True, slots=True)
class Rights:
    """What may be read of a channel, with the stored messages that were asked for."""

    broadcast: bool = True
    presence: bool = True
    replayed: tuple[Replayed, ...] = ()


@dataclass(frozen=True, slots=True)
class Verify:
    """Question: whose token is this? Answer: `identified`."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Admit:
    """Question: take a place in the room, and see what may be read. Answer: `admitted` or `not_admitted`."""


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Question: what may be read with this new identity? Answer: `reads_again`."""

    identity: Identity


@dataclass(frozen=True, slots=True)
class AskWrite:
    """Question: may the client send? Answer: `may_write`."""

    extension: Extension


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer a push. Without a join reference that of the channel is sent; a slow one is told after a moment."""

    ref: Ref
    status: str
    response: bytes
    join_ref: Ref = None
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class Tell:
    """Push something of the channel's own to its client."""

    event: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """Send stored messages; live ones with the same ids are left out from now on."""

    messages: tuple[Replayed, ...]


@dataclass(frozen=True, slots=True)
class Enabled:
    """From now on the channel takes part in the room as its rights and its presence say."""

    with_state: bool = False
    """The state of presence is to be sent as well."""


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Send to the room; to the client itself only if it wants to hear itself."""

    message: Message
    to_self: bool


@dataclass(frozen=True, slots=True)
class Track:
    """Show this of the client (JSON object), in place of what was shown."""

    meta: bytes


@dataclass(frozen=True, slots=True)
class Untrack:
    """Show the client no more."""


@dataclass(frozen=True, slots=True)
class Follow:
    """Subscribe to the row changes of the join."""


@dataclass(frozen=True, slots=True)
class Renew:
    """Take over the new identity: for row changes, and for the time of the next look."""


@dataclass(frozen=True, slots=True)
class Close:
    """Tell the client that the channel is closed."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The channel is over: give up its place, its presence, its row changes."""


Action = (
    Verify | Admit | ReadAgain | AskWrite | Reply | Tell | Replay | Enabled | Broadcast | Track | Untrack | Follow
    | Renew | Close | Leave
)  # fmt: skip
