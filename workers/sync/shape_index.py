"""Which shapes a batch of changes may concern.

A shape whose filter requires that a column equals a constant is concerned by a row that has the constant, and by a row that it
has already. So of a thousand shapes with constants of their own those two are found by look-ups, whatever the others are.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from schemas.changes import ChangeBatch, ChangeKind, Values
from workers.sync.changes import key_of, places_of
from workers.sync.names import TableName
from workers.sync.pending import KeyValues
from workers.sync.reading import text_of_json
from workers.sync.shape import Shape

KeyForm = tuple[tuple[str, str], ...]
"""The columns of a key and their types."""


@dataclass(slots=True)
class _Routed:
    """Shapes of one table with keys of one form, each by one column that must equal a constant."""

    shapes: set[Shape] = field(default_factory=set)
    by_constant: dict[str, dict[str, set[Shape]]] = field(default_factory=dict)
    """Column -> constant -> shapes."""

    def add(self, shape: Shape, column: str, constant: str) -> None:
        """Take a shape."""
        self.shapes.add(shape)
        self.by_constant.setdefault(column, {}).setdefault(constant, set()).add(shape)

    def discard(self, shape: Shape, column: str, constant: str) -> None:
        """Forget a shape."""
        self.shapes.discard(shape)
        constants = self.by_constant[column]
        constants[constant].discard(shape)
        if not constants[constant]:
            del constants[constant]
        if not constants:
            del self.by_constant[column]

    def find(self, batch: ChangeBatch) -> set[Shape]:
        """Return the shapes that a batch may concern."""
        one = next(iter(self.shapes)).resolved
        places = places_of(one, batch)
        if places is None:
            return self.shapes
        names = [column.name for column in batch.columns]
        keys: set[KeyValues] = set()
        found: set[Shape] = set()
        for row in batch.changes:
            new, old = key_of(one, row.new, places), key_of(one, row.old, places)
            if row.kind is ChangeKind.TRUNCATE or (new is None and old is None):
                return self.shapes
            keys.update(key for key in (new, old) if key is not None)
            if row.new is not None:
                found.update(self._entered(row.new, names))
        return found | {shape for shape in self.shapes if shape.may_concern_any(keys)}

    def _entered(self, new: Values, names: list[str]) -> Iterator[Shape]:
        """Yield the shapes whose constant a new version of a row has, or may have."""
        for column, constants in self.by_constant.items():
            value = new[names.index(column)] if column in names else None
            if value is None:  # it did not come with the change
                yield from itertools.chain.from_iterable(constants.values())
            elif (text := text_of_json(value, "")) is not None:
                yield from constants.get(text, ())


class ShapeIndex:
    """All shapes by the tables that they depend on."""

    def __init__(self) -> None:
        self._plain: dict[TableName, set[Shape]] = {}
        self._routed: dict[tuple[TableName, KeyForm], _Routed] = {}
        self._forms: dict[TableName, set[KeyForm]] = {}
        self._removals: dict[Shape, list[Callable[[], None]]] = {}

    def add(self, shape: Shape) -> None:
        """Take a shape as it is resolved now, instead of how it was before."""
        self.discard(shape)
        resolved = shape.resolved
        is_routed = bool(resolved.equal) and resolved.has_plain_key
        for name in resolved.own - resolved.others if is_routed else ():
            self._route(shape, name)
        for name in resolved.others if is_routed else resolved.own | resolved.others:
            self._plain.setdefault(name, set()).add(shape)
            self._removals.setdefault(shape, []).append(partial(self._remove_plain, name, shape))

    def discard(self, shape: Shape) -> None:
        """Forget a shape."""
        for remove in self._removals.pop(shape, ()):
            remove()

    def of(self, batches: Iterable[ChangeBatch]) -> set[Shape]:
        """Return the shapes that some batches may concern."""
        found: set[Shape] = set()
        for batch in batches:
            name = (batch.schema, batch.table)
            found |= self._plain.get(name, set())
            for form in self._forms.get(name, ()):
                found |= self._routed[name, form].find(batch)
        return found

    def _route(self, shape: Shape, name: TableName) -> None:
        resolved = shape.resolved
        bases = (column.base for column in resolved.sql.key)
        form = tuple(zip(resolved.table.key, bases, strict=True))
        column, constant = next(iter(resolved.equal.items()))
        self._forms.setdefault(name, set()).add(form)
        self._routed.setdefault((name, form), _Routed()).add(shape, column, constant)
        removal = partial(self._remove_routed, name, form, shape, column, constant)
        self._removals.setdefault(shape, []).append(removal)

    def _remove_plain(self, name: TableName, shape: Shape) -> None:
        self._plain[name].discard(shape)
        if not self._plain[name]:
            del self._plain[name]

    def _remove_routed(
        self, name: TableName, form: KeyForm, shape: Shape, column: str, constant: str
    ) -> None:
        routed = self._routed[name, form]
        routed.discard(shape, column, constant)
        if not routed.shapes:
            del self._routed[name, form]
            self._forms[name].discard(form)
            if not self._forms[name]:
                del self._forms[name]
