"""Streams of JetStream over our own connection: their state, and orders that make, change or drop one.

`broker/jetstream/durable_consumer.py` does the like over the package, with consumers; who only writes into a stream needs no package
of 10 MB. A stream has notes (its metadata): texts that whoever writes into it keeps there.
Source: NATS documentation, "JetStream wire API".
"""

import base64
from collections.abc import Sequence

import msgspec
from msgspec import Struct, field

from broker.jetstream.api import OrderError, give_order
from broker.jetstream.errors import JetStreamRefused, without_room
from broker.nats.connection import Connection

NO_STREAM = 10059
_NO_MESSAGE = 10037
_ID = b"Nats-Msg-Id:"


class StreamLimits(Struct, frozen=True):
    """What a stream keeps: subjects, seconds, bytes; ids of messages are remembered for `duplicate_window_s`."""

    name: str
    subjects: Sequence[str]
    max_age_s: float
    max_bytes: int
    duplicate_window_s: float = 120.0


class StreamState(Struct, frozen=True):
    """Where a stream stands. `last_seq` stays when messages go; `last_id` is empty when the last one is gone.

    `created` is when it was made: another text is another stream.
    """

    first_seq: int
    last_seq: int
    last_id: str
    notes: dict[str, str]
    created: str


class _Counts(Struct, frozen=True):
    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0


class _Config(Struct, frozen=True):
    metadata: dict[str, str] = {}


class _Stored(Struct, frozen=True):
    hdrs: str = ""


class _Answer(Struct, frozen=True):
    error: OrderError | None = None
    created: str = ""
    state: _Counts = field(default_factory=_Counts)
    config: _Config = field(default_factory=_Config)
    message: _Stored = field(default_factory=_Stored)


_ANSWER = msgspec.json.Decoder(_Answer)


async def stream_state(connection: Connection, name: str) -> StreamState | None:
    """Give the state of a stream; None if there is none of that name. Raises: Unavailable, JetStreamRefused."""
    try:
        found = await _order(connection, f"STREAM.INFO.{name}", {})
    except JetStreamRefused as refused:
        if refused.code == NO_STREAM:
            return None
        raise
    last_id = await _id_of(connection, name, found.state.last_seq) if found.state.messages else ""
    return StreamState(
        found.state.first_seq, found.state.last_seq, last_id, _own(found.config.metadata), found.created
    )


async def make_stream(connection: Connection, limits: StreamLimits, notes: dict[str, str]) -> None:
    """Make a stream on disk whose oldest messages go first. Raises: Unavailable, JetStreamRefused."""
    try:
        await _order(connection, f"STREAM.CREATE.{limits.name}", _config(limits, notes, connection.replicas))
    except JetStreamRefused as refused:
        raise without_room(refused, limits.name, limits.max_bytes) from None


async def change_stream(connection: Connection, limits: StreamLimits, notes: dict[str, str]) -> None:
    """Change the limits and the notes of a stream. Raises: Unavailable, JetStreamRefused."""
    await _order(connection, f"STREAM.UPDATE.{limits.name}", _config(limits, notes, connection.replicas))


async def drop_stream(connection: Connection, name: str) -> None:
    """Drop a stream, with all it remembers: ids that it has seen are new again. Raises: Unavailable, JetStreamRefused."""
    await _order(connection, f"STREAM.DELETE.{name}", {})


async def _id_of(connection: Connection, name: str, seq: int) -> str:
    try:
        found = await _order(connection, f"STREAM.MSG.GET.{name}", {"seq": seq})
    except JetStreamRefused as refused:
        if refused.code == _NO_MESSAGE:  # it went in the meantime
            return ""
        raise
    for line in base64.b64decode(found.message.hdrs).split(b"\r\n"):
        if line.startswith(_ID):
            return line[len(_ID) :].strip().decode(errors="replace")
    return ""


def _config(limits: StreamLimits, notes: dict[str, str], replicas: int) -> dict[str, object]:
    window_s = min(limits.duplicate_window_s, limits.max_age_s or limits.duplicate_window_s)
    return {
        "name": limits.name,
        "subjects": list(limits.subjects),
        "retention": "limits",
        "discard": "old",
        "storage": "file",
        "num_replicas": replicas,
        "max_age": int(limits.max_age_s * 1e9),
        "max_bytes": limits.max_bytes,
        "duplicate_window": int(window_s * 1e9),
        "allow_direct": True,
        "allow_msg_ttl": True,
        "metadata": notes,
    }


def _own(metadata: dict[str, str]) -> dict[str, str]:
    """Leave out what the server notes itself."""
    return {name: text for name, text in metadata.items() if not name.startswith("_nats.")}


async def _order(connection: Connection, what: str, asked: dict[str, object]) -> _Answer:
    return await give_order(connection, what, asked, _ANSWER)
