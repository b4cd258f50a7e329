"""The start of a leader's term: makes slot and stream consistent.

The stream is created or set to its limits; a missing or lost slot is recreated; if the log does not continue where the stream
ends, subscribers are notified of a gap.

Theory. The stream stores which slot it belongs to, and in which timeline of the server it was written. The database stores into
which stream the slot was read. These notes are removed before a slot is created, and written when the gap is in the stream. So a
crash in between causes one gap too many, never a gap of which subscribers are not notified.
"""

from dataclasses import dataclass

from broker.jetstream.streams import (
    StreamLimits,
    StreamState,
    create_stream,
    delete_stream,
    stream_state,
    update_stream,
)
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from broker.subjects import CHANGES_STREAM, CHANGES_SUBJECTS
from schemas.errors import Unavailable
from schemas.settings.realtime import RealtimeSettings
from workers.replication.failover import ends_before, is_common, keep_on_standbys
from workers.replication.messages import StreamMessage, gap_of, order
from workers.replication.observations import ChangesLost
from workers.replication.slot import (
    ServerState,
    SlotState,
    create_slot,
    note_stream,
    read_server,
    read_slot,
    stream_of,
)
from workers.replication.tables import Ask

_SOURCE = "headwater-source"
_TIMELINE = "headwater-timeline"
_FIRST = "replication begins"
_ELSEWHERE = "another broker was told of changes meanwhile"


@dataclass(frozen=True, slots=True)
class TermStart:
    """Where a term starts: everything before `start` is in the stream."""

    server: ServerState
    start: int
    last_seq: int
    last_id: str
    gap: StreamMessage | None
    stream: str


class ChangeStream:
    """The stream of changes and its notes."""

    def __init__(self, connection: NatsConnection, settings: RealtimeSettings) -> None:
        self.connection, self.slot = connection, settings.slot_name
        self._limits = StreamLimits(
            CHANGES_STREAM, CHANGES_SUBJECTS, float(settings.retention), int(settings.retention_size), 300.0
        )

    async def ready(self) -> StreamState:
        """Create the stream, or set its limits."""
        state = await stream_state(self.connection, CHANGES_STREAM)
        if state is None:
            await create_stream(self.connection, self._limits, {})
            state = await stream_state(self.connection, CHANGES_STREAM)
            if state is None:
                raise Unavailable("the stream of changes is gone again")
            return state
        await update_stream(self.connection, self._limits, state.notes)
        return state

    async def note(self, ask: Ask, server: ServerState, stream: str) -> None:
        """Store on both sides that the stream, identified by its creation time, belongs to the slot of this server."""
        await note_stream(ask, self.slot, stream)
        await update_stream(self.connection, self._limits, notes_of(server, self.slot))

    async def forget(self) -> None:
        """Store that the stream belongs to no server."""
        await update_stream(self.connection, self._limits, {})

    async def recreate(self) -> StreamState:
        """Drop the stream with all ids that it has seen, and create it again."""
        await delete_stream(self.connection, CHANGES_STREAM)
        return await self.ready()


async def start_term(changes: ChangeStream, ask: Ask, url: str) -> TermStart:
    """Make slot and stream consistent. Raises: ReplicationImpossible, StreamLost, Unavailable, DatabaseError, LeadershipLost."""
    # The stream first: what another leader stores in between would seem to come after the end of the log.
    state = await changes.ready()
    server = await read_server(ask)
    slot = await read_slot(ask, changes.slot, server.database)
    other, common = await _compare_histories(server, state, changes.slot, url)
    stream = await stream_of(ask, changes.slot)
    is_elsewhere = stream is not None and stream != state.created
    reason = other or _break(server, slot, state, is_elsewhere=is_elsewhere)
    if slot is None or slot.is_lost:
        if state.notes:
            await changes.forget()
        start = await create_slot(ask, changes.slot, server.version)
    else:
        start = max(slot.confirmed, common)
        if not slot.survives_failover and not slot.is_read:
            await keep_on_standbys(url, changes.slot)
    if not reason:
        if stream is None or state.notes != notes_of(server, changes.slot):
            await changes.note(ask, server, state.created)
        return TermStart(server, start, state.last_seq, state.last_id, None, state.created)
    last = order(state.last_id)
    if other or last >= (
        start - 1,
        0,
    ):  # later ids may be among those that this stream has seen: it would drop them
        state, last = await changes.recreate(), (0, 0)
    since = slot.confirmed if slot and reason != _ELSEWHERE else 0
    if reason != _FIRST:
        observe(ChangesLost(reason))
    gap = gap_of(start, since or last[0], reason)
    return TermStart(server, start, state.last_seq, state.last_id, gap, state.created)


def notes_of(server: ServerState, slot: str) -> dict[str, str]:
    """Return the notes of a stream that belongs to a server and a slot."""
    return {_SOURCE: f"{server.system}/{server.database}/{slot}", _TIMELINE: str(server.timeline)}


async def _compare_histories(server: ServerState, state: StreamState, slot: str, url: str) -> tuple[str, int]:
    """Return why the stream has changes that this server does not have, or ""; and up to where both have the same."""
    noted = state.notes.get(_SOURCE, "")
    if noted and noted != notes_of(server, slot)[_SOURCE]:
        return "the database is another one", 0
    by = int(state.notes.get(_TIMELINE, server.timeline))
    if by == server.timeline:
        return "", 0
    ends = await ends_before(url, server.timeline)
    if is_common(order(state.last_id)[0], by, ends):
        return "", 0
    return "a standby took over that did not have all that was told", ends.get(by, 0)


def _break(server: ServerState, slot: SlotState | None, state: StreamState, *, is_elsewhere: bool) -> str:
    """Return why the log does not continue where the stream of the same history ends, or ""."""
    is_noted = _SOURCE in state.notes
    if slot is None or slot.is_lost:
        return "the replication slot was lost" if slot or is_noted else _FIRST
    if not is_noted:
        return "the stream of changes was made anew"
    if is_elsewhere:
        return _ELSEWHERE
    return "the log of the database begins anew" if order(state.last_id)[0] > server.lsn else ""
