"""Who is in a room: entries of all edges, merged, and the differences that its members are told. Pure.

An entry has one owner, the edge of its socket, and a reference that is never used again; so edges cannot contradict one
another, and what is told twice changes nothing. Entries with one key are shown together, as `metas` of that key.
Source: reference page "realtime", section 8.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

_OVERHEAD = 64
"""Bytes of the references of an entry, and of the signs around it."""


class Entry(Struct, frozen=True, array_like=True):
    """One presence: what a channel of a socket told of itself."""

    key: str
    ref: str
    meta: bytes
    """JSON object, without references."""
    previous: str = ""
    """The reference of the entry that this one replaces."""

    @property
    def size(self) -> int:
        """Return about how many bytes it has where members are sent it."""
        return len(self.meta) + len(self.key) + _OVERHEAD

    def shown(self) -> dict[str, object]:
        """Give what members see of it."""
        told: dict[str, object] = dict(_members(self.meta))
        told["phx_ref"] = self.ref
        if self.previous:
            told["phx_ref_prev"] = self.previous
        return told


class Diff:
    """Who came and who went since the members were told last. What came and went meanwhile is left out."""

    __slots__ = ("joins", "leaves")

    def __init__(self, joins: Iterable[Entry] = (), leaves: Iterable[Entry] = ()) -> None:
        self.joins = {entry.ref: entry for entry in joins}
        self.leaves = {entry.ref: entry for entry in leaves}

    def __bool__(self) -> bool:
        return bool(self.joins or self.leaves)

    def add(self, later: "Diff") -> None:
        """Take in what happened next."""
        for ref, entry in later.leaves.items():
            if self.joins.pop(ref, None) is None:
                self.leaves[ref] = entry
        for ref, entry in later.joins.items():  # an edge that was taken for dead comes back with what it had
            if self.leaves.pop(ref, None) is None:
                self.joins[ref] = entry

    def payload(self) -> bytes:
        """Give the payload of `presence_diff`."""
        return msgspec.json.encode(
            {
                "joins": _grouped(self.joins.values()),
                "leaves": _grouped(self.leaves.values()),
            }
        )


class Presences:
    """The entries of one room."""

    __slots__ = ("_by_edge", "count", "size")

    def __init__(self) -> None:
        self._by_edge: dict[str, dict[str, Entry]] = {}
        self.count = self.size = 0
        """Entries, and their bytes."""

    def change(self, edge: str, joins: Iterable[Entry], leaves: Iterable[str]) -> Diff:
        """Take in what an edge tells; give what is new of it."""
        own = self._by_edge.setdefault(edge, {})
        gone = [own.pop(ref) for ref in leaves if ref in own]
        came = [entry for entry in joins if entry.ref not in own]
        own.update((entry.ref, entry) for entry in came)
        self.count += len(came) - len(gone)
        self.size += sum(entry.size for entry in came) - sum(entry.size for entry in gone)
        if not own:
            del self._by_edge[edge]
        return Diff(came, gone)

    def replace(self, edge: str, entries: Iterable[Entry]) -> Diff:
        """Take in all that an edge has; what it has no more is gone."""
        told = list(entries)
        refs = {entry.ref for entry in told}
        gone = [ref for ref in self._by_edge.get(edge, {}) if ref not in refs]
        return self.change(edge, told, gone)

    def of_edge(self, edge: str) -> list[Entry]:
        """Give what an edge has told."""
        return list(self._by_edge.get(edge, {}).values())

    @property
    def edges(self) -> list[str]:
        """The edges that have entries here."""
        return list(self._by_edge)

    def state(self) -> bytes:
        """Give the payload of `presence_state`."""
        every = (entry for entries in self._by_edge.values() for entry in entries.values())
        return msgspec.json.encode(_grouped(every))

    def __len__(self) -> int:
        return self.count


def is_object(meta: bytes) -> bool:
    """Tell whether what a client tracks is a JSON object."""
    try:
        _members(meta)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _grouped(entries: Iterable[Entry]) -> dict[str, dict[str, list[dict[str, object]]]]:
    by_key: dict[str, dict[str, list[dict[str, object]]]] = {}
    for entry in entries:
        by_key.setdefault(entry.key, {"metas": []})["metas"].append(entry.shown())
    return by_key


_members = msgspec.json.Decoder(dict[str, Raw]).decode
