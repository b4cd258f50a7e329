"""Messages in which edges exchange presence. Each edge publishes the presences of its own sockets.

subject              message
presence.<topic>     PresenceUpdate: joins and leaves at an edge    PresenceSnapshot: all presences of an edge in the topic
edges.realtime       EdgeHeartbeat: an edge is alive    EdgeDeparture: it stops    PresenceQuery: send snapshots of a topic
inbox of the query   PresenceSnapshot: the answer, empty if the edge tracks nothing in the topic
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from services.realtime.topics.presence import Presence

_SLICE_BYTES = 400 * 1024


class PresenceUpdate(Struct, frozen=True, array_like=True, tag="update"):
    """Presences that joined and left at an edge."""

    edge: str
    topic: str
    is_private: bool
    joins: list[Presence]
    leaves: list[str]
    """References."""


class PresenceSnapshot(Struct, frozen=True, array_like=True, tag="snapshot"):
    """All presences of an edge in a topic. A long one is sent in several pieces, one directly after the other."""

    edge: str
    topic: str
    is_private: bool
    presences: list[Presence]
    is_last: bool = True


class EdgeHeartbeat(Struct, frozen=True, array_like=True, tag="heartbeat"):
    """An edge is alive. `is_new`: the other edges answer with a heartbeat."""

    edge: str
    is_new: bool = False


class EdgeDeparture(Struct, frozen=True, array_like=True, tag="departure"):
    """An edge stops; it has removed its presences."""

    edge: str


class PresenceQuery(Struct, frozen=True, array_like=True, tag="query"):
    """Asks all other edges for their presences in a topic."""

    edge: str
    topic: str
    is_private: bool


decode_topic_message = msgspec.msgpack.Decoder(PresenceUpdate | PresenceSnapshot).decode
decode_edge_message = msgspec.msgpack.Decoder(EdgeHeartbeat | EdgeDeparture | PresenceQuery).decode


def slices(presences: Iterable[Presence]) -> Iterator[list[Presence]]:
    """Split presences into lists that fit into a message; at least one list, which may be empty."""
    part: list[Presence] = []
    size = 0
    for presence in presences:
        presence_size = len(presence.meta) + len(presence.key.encode(errors="replace")) + 64
        if part and size + presence_size > _SLICE_BYTES:
            yield part
            part, size = [], 0
        part.append(presence)
        size += presence_size
    yield part


def snapshots(
    edge: str, topic: str, presences: Iterable[Presence], *, is_private: bool
) -> list[PresenceSnapshot]:
    """Return the snapshot of an edge, in one piece or several."""
    parts = list(slices(presences))
    return [
        PresenceSnapshot(edge, topic, is_private, part, is_last=number == len(parts))
        for number, part in enumerate(parts, 1)
    ]
