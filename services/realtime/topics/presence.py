"""Presences of a topic, merged over all edges, and the differences that channels are sent. Pure.

A presence belongs to one edge, that of its socket, and has a reference that is never used again. So edges cannot contradict
each other, and applying the same update twice changes nothing. Presences with one key are sent together, as `metas` of that
key. Source: docs/reference/realtime.md, section 8.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

_OVERHEAD = 64
"""Bytes of the references of a presence, and of the JSON around it."""


class Presence(Struct, frozen=True, array_like=True):
    """What one channel of a socket tracks."""

    key: str
    ref: str
    meta: bytes
    """JSON object, without references."""
    previous: str = ""
    """Reference of the presence that this one replaces."""

    @property
    def size(self) -> int:
        """Return about how many bytes it takes in a message to channels."""
        return len(self.meta) + len(self.key) + _OVERHEAD

    def as_meta(self) -> dict[str, object]:
        """Return its member of `metas`."""
        meta: dict[str, object] = dict(_members(self.meta))
        meta["phx_ref"] = self.ref
        if self.previous:
            meta["phx_ref_prev"] = self.previous
        return meta


class PresenceDiff:
    """Presences that joined and left since the last message to the channels. A presence that did both is left out."""

    __slots__ = ("joins", "leaves")

    def __init__(self, joins: Iterable[Presence] = (), leaves: Iterable[Presence] = ()) -> None:
        self.joins = {presence.ref: presence for presence in joins}
        self.leaves = {presence.ref: presence for presence in leaves}

    def __bool__(self) -> bool:
        return bool(self.joins or self.leaves)

    def add(self, later: "PresenceDiff") -> None:
        """Add a later difference."""
        for ref, presence in later.leaves.items():
            if self.joins.pop(ref, None) is None:
                self.leaves[ref] = presence
        for (
            ref,
            presence,
        ) in later.joins.items():  # an edge that was considered dead is back with its presences
            if self.leaves.pop(ref, None) is None:
                self.joins[ref] = presence

    def payload(self) -> bytes:
        """Return the payload of `presence_diff`."""
        return msgspec.json.encode(
            {
                "joins": _grouped(self.joins.values()),
                "leaves": _grouped(self.leaves.values()),
            }
        )


class PresenceSet:
    """The presences of one topic on all edges."""

    __slots__ = ("_by_edge", "count", "size")

    def __init__(self) -> None:
        self._by_edge: dict[str, dict[str, Presence]] = {}
        self.count = self.size = 0
        """Presences, and their bytes."""

    def change(self, edge: str, joins: Iterable[Presence], leaves: Iterable[str]) -> PresenceDiff:
        """Apply an update of an edge; return the part of it that is new."""
        present = self._by_edge.setdefault(edge, {})
        left = [present.pop(ref) for ref in leaves if ref in present]
        joined = [presence for presence in joins if presence.ref not in present]
        present.update((presence.ref, presence) for presence in joined)
        self.count += len(joined) - len(left)
        self.size += sum(presence.size for presence in joined) - sum(presence.size for presence in left)
        if not present:
            del self._by_edge[edge]
        return PresenceDiff(joined, left)

    def replace(self, edge: str, presences: Iterable[Presence]) -> PresenceDiff:
        """Apply the complete list of an edge; presences that are not in it have left."""
        present = list(presences)
        refs = {presence.ref for presence in present}
        left = [ref for ref in self._by_edge.get(edge, {}) if ref not in refs]
        return self.change(edge, present, left)

    def of_edge(self, edge: str) -> list[Presence]:
        """Return the presences of an edge."""
        return list(self._by_edge.get(edge, {}).values())

    @property
    def edges(self) -> list[str]:
        """Return the edges that have presences here."""
        return list(self._by_edge)

    def state(self) -> bytes:
        """Return the payload of `presence_state`."""
        presences = (presence for of_edge in self._by_edge.values() for presence in of_edge.values())
        return msgspec.json.encode(_grouped(presences))

    def __len__(self) -> int:
        return self.count


def is_object(meta: bytes) -> bool:
    """Return whether the payload of a `track` is a JSON object."""
    try:
        _members(meta)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _grouped(presences: Iterable[Presence]) -> dict[str, dict[str, list[dict[str, object]]]]:
    by_key: dict[str, dict[str, list[dict[str, object]]]] = {}
    for presence in presences:
        by_key.setdefault(presence.key, {"metas": []})["metas"].append(presence.as_meta())
    return by_key


_members = msgspec.json.Decoder(dict[str, Raw]).decode
