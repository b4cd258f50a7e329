"""Keys of relations, those of views included: which columns of a view make up a key of a table beneath it. Pure.

A key shows through a view when the view has all of its columns; a column that the view has several times gives one
showing for each combination. Source: reference page "rest", section 22, rules 2 and 3.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from workers.database.catalog_rows import ColumnRow, ConstraintRow
from workers.database.views import Origin


@dataclass(frozen=True, slots=True)
class Showing:
    """A key's columns as one exposed relation has them, in the key's order."""

    relation: int
    columns: tuple[str, ...]
    is_view: bool


class Keys:
    """Finds where the keys of tables show: on the table itself and on the views over it, exposed relations only."""

    def __init__(
        self,
        columns: Iterable[ColumnRow],
        origins: Mapping[int, Mapping[int, Origin]],
        relations: Iterable[int],
    ) -> None:
        self._names: dict[int, dict[int, str]] = {oid: {} for oid in relations}
        for column in columns:
            if column.relation in self._names:
                self._names[column.relation][column.number] = column.name
        self._views: dict[int, dict[int, dict[int, list[str]]]] = defaultdict(dict)
        for view, traced in origins.items():
            if view in self._names:
                self._add_view(view, traced)

    def _add_view(self, view: int, traced: Mapping[int, Origin]) -> None:
        for number in sorted(traced):
            table, column = traced[number]
            showing = self._views[table].setdefault(view, {})
            showing.setdefault(column, []).append(self._names[view][number])

    def showings(self, table: int, columns: Sequence[int]) -> Iterator[Showing]:
        """Give the key's columns as the table and each view over it have them."""
        names = self._names.get(table)
        if names is not None:
            yield Showing(table, tuple(names[number] for number in columns), is_view=False)
        for view, traced in self._views.get(table, {}).items():
            if all(number in traced for number in columns):
                for combination in product(*(traced[number] for number in columns)):
                    yield Showing(view, combination, is_view=True)

    def primary_keys(self, constraints: Iterable[ConstraintRow]) -> dict[int, tuple[str, ...]]:
        """Give the primary key of each relation that has one.

        A view has the keys of all the tables whose key columns it shows, each by the first showing of its columns,
        in the order in which the view shows them.
        """
        found: dict[int, list[tuple[str, ...]]] = defaultdict(list)
        for constraint in constraints:
            if constraint.kind == "p":
                seen = set()
                for showing in self.showings(constraint.relation, constraint.columns):
                    if showing.relation not in seen:
                        seen.add(showing.relation)
                        found[showing.relation].append(showing.columns)
        return {relation: self._joined(relation, keys) for relation, keys in found.items()}

    def _joined(self, relation: int, keys: list[tuple[str, ...]]) -> tuple[str, ...]:
        if len(keys) > 1:
            place = {name: number for number, name in self._names[relation].items()}
            keys.sort(key=lambda key: min(place[name] for name in key))
        return tuple(name for key in keys for name in key)
