"""The keys of a shape's rows in memory, where they are few: changes of other rows are skipped."""

from collections.abc import Mapping, Sequence

from workers.sync.pending import KeyValues, key_values

MOST_MEMBERS = 5000


class ShapeMembers:
    """The keys of one shape, once they are known. `relation`: its quoted name, with which each key begins."""

    def __init__(self, relation: str) -> None:
        self._relation = relation
        self._keys: set[KeyValues] | None = None

    @property
    def are_known(self) -> bool:
        """Return whether the keys are in memory."""
        return self._keys is not None

    def load(self, keys: Sequence[bytes]) -> None:
        """Take all keys of the shape, unless they are too many."""
        if len(keys) <= MOST_MEMBERS:
            self._keys = {key_values(key, self._relation) for key in keys}

    def note(self, states: Mapping[bytes, bytes | None]) -> None:
        """Note rows that came, changed, or (None) went."""
        if self._keys is None:
            return
        for key, value in states.items():
            (self._keys.discard if value is None else self._keys.add)(key_values(key, self._relation))
        if len(self._keys) > MOST_MEMBERS:
            self._keys = None

    def may_have(self, key: KeyValues) -> bool:
        """Return whether the shape has a row of this key, or may have one."""
        return self._keys is None or key in self._keys

    def may_have_any(self, keys: set[KeyValues]) -> bool:
        """Return whether the shape has, or may have, a row of one of some keys."""
        return self._keys is None or not self._keys.isdisjoint(keys)
