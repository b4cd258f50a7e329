"""Create, update, delete and inspect streams: the only module that does, over the hot-path connection.

It does not use nats-py. A process that only writes into a stream or reads it in order does not load that library, and
a cluster that elects a leader needs requests that are repeated (`broker/jetstream/api.py`), which the library does
not do.

A stream stores messages under increasing sequence numbers until a limit (age, bytes) removes the oldest. It remembers
the ids (`Nats-Msg-Id`) of messages for a while and stores a message with a known id only once. Its metadata holds
notes: texts that its writer stores there.

A stream that this process ensures is remembered, so that one that vanished can be created again. A stream vanishes
when an operator deletes it, or with the disk of a broker. Its messages are lost then, but new ones are stored without
a restart. Source: NATS documentation, "JetStream wire API".
"""

import base64
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from broker.jetstream.api import JetStreamFault, jetstream_request
from broker.jetstream.errors import JetStreamError, explain_no_space
from broker.nats.connection import NatsConnection
from broker.observability.observations import StreamRecreated
from broker.observability.observe import observe

NO_STREAM = 10059
_NAME_IN_USE = 10058
_NO_MESSAGE = 10037
_ID = b"Nats-Msg-Id:"

T = TypeVar("T")


class StreamLimits(Struct, frozen=True):
    """What a stream stores: subjects, seconds, bytes; ids of messages are remembered for `duplicate_window_s`.

    0 seconds and -1 bytes mean unlimited.
    """

    name: str
    subjects: Sequence[str]
    max_age_s: float
    max_bytes: int
    duplicate_window_s: float = 120.0
    is_in_memory: bool = False
    is_work_queue: bool = False
    """A message is removed once its consumer has acknowledged it, and a full stream rejects new messages. Otherwise the oldest
    messages are removed, read or not."""


class StreamState(Struct, frozen=True):
    """The position of a stream. `last_seq` stays when messages are removed; `last_id` is empty when the last one was removed."""

    first_seq: int
    last_seq: int
    last_id: str
    notes: dict[str, str]
    created: str
    """When the stream was created: a different text means a different stream."""


class StreamHead(Struct, frozen=True):
    """The first and last sequence number of a stream. `first_seq` is above `last_seq` when it is empty."""

    first_seq: int
    last_seq: int
    created: str
    """When the stream was created: a different text means a different stream."""


class _Counts(Struct, frozen=True):
    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0


class _Config(Struct, frozen=True):
    metadata: dict[str, str] = {}


class _MessageHeaders(Struct, frozen=True):
    hdrs: str = ""
    seq: int = 0


class _StreamResponse(Struct, frozen=True):
    error: JetStreamFault | None = None
    created: str = ""
    state: _Counts = field(default_factory=_Counts)
    config: _Config = field(default_factory=_Config)
    message: _MessageHeaders = field(default_factory=_MessageHeaders)


_RESPONSE = msgspec.json.Decoder(_StreamResponse)


async def ensure_stream(
    connection: NatsConnection,
    name: str,
    subjects: Sequence[str],
    *,
    max_age_s: float = 0,
    max_bytes: int = -1,
    duplicate_window_s: float = 120,
    in_memory: bool = False,
    is_work_queue: bool = False,
) -> None:
    """Create a stream that stores what is published on some subjects, or update it to these limits.

    Beyond a limit the oldest messages are removed, or with `is_work_queue` new ones rejected; 0 seconds and -1 bytes mean
    unlimited. Raises: Unavailable, JetStreamError.
    """
    limits = StreamLimits(name, subjects, max_age_s, max_bytes, duplicate_window_s, in_memory, is_work_queue)
    connection.linked(EnsuredStreams).limits[name] = limits
    await _create_or_update(connection, limits)


class EnsuredStreams:
    """The streams that this process ensured, with their limits: `connection.linked(EnsuredStreams)`."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self.limits: dict[str, StreamLimits] = {}

    async def recreate(self, name: str) -> bool:
        """Create an ensured stream again; return False for another one. Raises: Unavailable, JetStreamError."""
        limits = self.limits.get(name)
        if limits is None:
            return False
        await _create_or_update(self._connection, limits)
        observe(StreamRecreated(name))
        return True

    def name_for(self, subject: str) -> str:
        """Return the name of the ensured stream that stores a subject; empty if there is none."""
        for name, limits in self.limits.items():
            if any(_covers(pattern, subject) for pattern in limits.subjects):
                return name
        return ""

    async def close(self) -> None:
        """Do nothing: a dictionary needs no closing."""


def _covers(pattern: str, subject: str) -> bool:
    return pattern == subject or (pattern.endswith(".>") and subject.startswith(pattern[:-1]))


async def _create_or_update(connection: NatsConnection, limits: StreamLimits) -> None:
    try:
        await create_stream(connection, limits, {})
    except JetStreamError as error:
        if error.code != _NAME_IN_USE:
            raise
        await update_stream(connection, limits, {})


async def create_stream(connection: NatsConnection, limits: StreamLimits, notes: dict[str, str]) -> None:
    """Create a stream whose oldest messages are removed first. Raises: Unavailable, JetStreamError."""
    config = _config(limits, notes, connection.replicas)
    try:
        await jetstream_request(connection, f"STREAM.CREATE.{limits.name}", config, _RESPONSE)
    except JetStreamError as error:
        raise explain_no_space(error, limits.name, limits.max_bytes) from None


async def update_stream(connection: NatsConnection, limits: StreamLimits, notes: dict[str, str]) -> None:
    """Update the limits and the notes of a stream. Raises: Unavailable, JetStreamError."""
    config = _config(limits, notes, connection.replicas)
    await jetstream_request(connection, f"STREAM.UPDATE.{limits.name}", config, _RESPONSE)


async def delete_stream(connection: NatsConnection, name: str) -> None:
    """Delete a stream with all message ids that it remembers. Raises: Unavailable, JetStreamError."""
    await jetstream_request(connection, f"STREAM.DELETE.{name}", {}, _RESPONSE)


async def stream_state(connection: NatsConnection, name: str) -> StreamState | None:
    """Return the state of a stream; None if it does not exist. Raises: Unavailable, JetStreamError."""
    try:
        info = await _info(connection, name)
    except JetStreamError as error:
        if error.code == NO_STREAM:
            return None
        raise
    last = await _message_id(connection, name, {"seq": info.state.last_seq}) if info.state.messages else None
    return StreamState(
        info.state.first_seq,
        info.state.last_seq,
        last[1] if last else "",
        {note: text for note, text in info.config.metadata.items() if not note.startswith("_nats.")},
        info.created,
    )


async def stream_head(connection: NatsConnection, name: str) -> StreamHead:
    """Return the position of a stream. Raises: Unavailable; JetStreamError, also for a missing stream."""
    info = await _info(connection, name)
    first, last = info.state.first_seq, info.state.last_seq
    return StreamHead(first if info.state.messages else last + 1, last, info.created)


async def next_id(connection: NatsConnection, name: str, seq: int) -> tuple[int, str] | None:
    """Return number and id of the first message at or after a number; None if there is none. Raises: Unavailable."""
    return await _message_id(connection, name, {"seq": max(seq, 1), "next_by_subj": ">"})


async def last_up_to(
    connection: NatsConnection, name: str, head: StreamHead, order: Callable[[str], T], most: T
) -> int:
    """Return the number of the last message whose id is not above `most` in the order of ids (binary search).

    It is the number before the first message when all of them are above. Raises: Unavailable.
    """
    low, high = head.first_seq - 1, head.last_seq
    while low < high:
        middle = (low + high + 1) // 2
        message = await next_id(connection, name, middle)
        if message is None or message[0] > high or order(message[1]) > most:  # type: ignore[operator]  # ids have an order
            high = middle - 1
        else:
            low = message[0]
    return low


async def _info(connection: NatsConnection, name: str) -> _StreamResponse:
    return await jetstream_request(connection, f"STREAM.INFO.{name}", {}, _RESPONSE)


async def _message_id(
    connection: NatsConnection, name: str, query: dict[str, object]
) -> tuple[int, str] | None:
    """Return number and id of a message, the id empty where it has none; None for a missing message."""
    try:
        response = await jetstream_request(connection, f"STREAM.MSG.GET.{name}", query, _RESPONSE)
    except JetStreamError as error:
        if error.code == _NO_MESSAGE:
            return None
        raise
    for line in base64.b64decode(response.message.hdrs).split(b"\r\n"):
        if line.startswith(_ID):
            return response.message.seq, line[len(_ID) :].strip().decode(errors="replace")
    return response.message.seq, ""


def _config(limits: StreamLimits, notes: dict[str, str], replicas: int) -> dict[str, object]:
    window_s = min(limits.duplicate_window_s, limits.max_age_s or limits.duplicate_window_s)
    return {
        "name": limits.name,
        "subjects": list(limits.subjects),
        "retention": "workqueue" if limits.is_work_queue else "limits",
        "discard": "new" if limits.is_work_queue else "old",
        "storage": "memory" if limits.is_in_memory else "file",
        "num_replicas": replicas,
        "max_age": int(limits.max_age_s * 1e9),
        "max_bytes": limits.max_bytes,
        "duplicate_window": int(window_s * 1e9),
        "allow_direct": True,
        "allow_msg_ttl": True,
        "metadata": notes,
    }
