"""Where a term of a leader begins: slot and stream are brought together.

The stream is made or brought to its limits; a slot that is missing or lost is made anew; where the log does not go on
where the stream ends, subscribers are told of a gap.

The stream notes which slot it belongs to, and in which timeline of the server it was written; the database notes which
stream the slot was read into. The notes are taken away before a slot is made, and written when the gap is in the stream: a
crash in between ends in one gap more, never in one that nobody is told of.
"""

from dataclasses import dataclass

from broker.jetstream.streams import (
    StreamLimits,
    StreamState,
    change_stream,
    drop_stream,
    make_stream,
    stream_state,
)
from broker.nats.connection import Connection
from broker.observability.observe import observe
from broker.subjects import CHANGES_KEPT, CHANGES_STREAM
from schemas.errors import Unavailable
from schemas.settings.realtime import Realtime
from workers.replication.failover import ends_before, is_common, keep_on_standbys
from workers.replication.observations import ChangesLost
from workers.replication.outgoing import Outgoing, gap_of, order
from workers.replication.slot import (
    Server,
    Slot,
    look_at_server,
    look_at_slot,
    make_slot,
    note_stream,
    stream_of,
)
from workers.replication.tables import Ask

_SOURCE = "headwater-source"
_TIMELINE = "headwater-timeline"
_FIRST = "replication begins"
_ELSEWHERE = "another broker was told of changes meanwhile"


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a term begins: everything before `start` is in the stream."""

    server: Server
    start: int
    last_seq: int
    last_id: str
    gap: Outgoing | None
    stream: str


class Changes:
    """The stream of changes and its notes."""

    def __init__(self, connection: Connection, settings: Realtime) -> None:
        self.connection, self.slot = connection, settings.slot_name
        self._limits = StreamLimits(
            CHANGES_STREAM, CHANGES_KEPT, float(settings.retention), int(settings.retention_size), 300.0
        )

    async def ready(self) -> StreamState:
        """Make the stream, or bring it to its limits."""
        state = await stream_state(self.connection, CHANGES_STREAM)
        if state is None:
            await make_stream(self.connection, self._limits, {})
            state = await stream_state(self.connection, CHANGES_STREAM)
            if state is None:
                raise Unavailable("the stream of changes is gone again")
            return state
        await change_stream(self.connection, self._limits, state.notes)
        return state

    async def note(self, ask: Ask, server: Server, stream: str) -> None:
        """Note on both sides that the stream, made at that time, goes with the slot of this server."""
        await note_stream(ask, self.slot, stream)
        await change_stream(self.connection, self._limits, notes_of(server, self.slot))

    async def forget(self) -> None:
        """Note that the stream goes with no server."""
        await change_stream(self.connection, self._limits, {})

    async def anew(self) -> StreamState:
        """Drop it with all ids that it has seen, and make it anew."""
        await drop_stream(self.connection, CHANGES_STREAM)
        return await self.ready()


async def begin(changes: Changes, ask: Ask, url: str) -> Beginning:
    """Bring slot and stream together. Raises: Unfit, StreamLost, Unavailable, DatabaseError, LeadershipLost."""
    server = await look_at_server(ask)
    state = await changes.ready()
    slot = await look_at_slot(ask, changes.slot, server.database)
    other, common = await _other(server, state, changes.slot, url)
    stream = await stream_of(ask, changes.slot)
    is_elsewhere = stream is not None and stream != state.created
    reason = other or _break(server, slot, state, is_elsewhere=is_elsewhere)
    if slot is None or slot.is_lost:
        if state.notes:
            await changes.forget()
        start = await make_slot(ask, changes.slot, server.version)
    else:
        start = max(slot.confirmed, common)
        if not slot.survives_failover and not slot.is_read:
            await keep_on_standbys(url, changes.slot)
    if not reason:
        if stream is None or state.notes != notes_of(server, changes.slot):
            await changes.note(ask, server, state.created)
        return Beginning(server, start, state.last_seq, state.last_id, None, state.created)
    last = order(state.last_id)
    if other or last >= (start - 1, 0):  # ids that are to come may be among those that this stream has seen
        state, last = await changes.anew(), (0, 0)
    since = slot.confirmed if slot and reason != _ELSEWHERE else 0
    if reason != _FIRST:
        observe(ChangesLost(reason))
    gap = gap_of(start, since or last[0], reason)
    return Beginning(server, start, state.last_seq, state.last_id, gap, state.created)


def notes_of(server: Server, slot: str) -> dict[str, str]:
    """Give the notes of a stream that goes with a server and a slot."""
    return {_SOURCE: f"{server.system}/{server.database}/{slot}", _TIMELINE: str(server.timeline)}


async def _other(server: Server, state: StreamState, slot: str, url: str) -> tuple[str, int]:
    """Tell why the stream has what this server does not know, "" if it has not; and to where it has all that both know."""
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


def _break(server: Server, slot: Slot | None, state: StreamState, *, is_elsewhere: bool) -> str:
    """Tell why the log does not go on where the stream of the same history ends; "" if it does."""
    is_noted = _SOURCE in state.notes
    if slot is None or slot.is_lost:
        return "the replication slot was lost" if slot or is_noted else _FIRST
    if not is_noted:
        return "the stream of changes was made anew"
    if is_elsewhere:
        return _ELSEWHERE
    return "the log of the database begins anew" if order(state.last_id)[0] > server.lsn else ""
