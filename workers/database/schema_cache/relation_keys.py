"""Keys of tables, and the columns of views that select them. Pure.

A view has a key of its base table if it selects all columns of the key. If it selects a key column several times, each
combination of these columns is a key. Source: docs/reference/rest.md, section 22, rules 2 and 3.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from workers.database.schema_cache.catalog_rows import CatalogColumnRow, ConstraintRow
from workers.database.schema_cache.view_columns import Origin


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns of a key in one exposed relation, in the key's order."""

    relation: int
    columns: tuple[str, ...]
    is_view: bool


class RelationKeys:
    """Finds the columns of a table's key in the table itself and in the views over it, for exposed relations."""

    def __init__(
        self,
        columns: Iterable[CatalogColumnRow],
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
            key_columns = self._views[table].setdefault(view, {})
            key_columns.setdefault(column, []).append(self._names[view][number])

    def in_relations(self, table: int, columns: Sequence[int]) -> Iterator[KeyColumns]:
        """Yield the columns of a key in the table and in each view over it."""
        names = self._names.get(table)
        if names is not None:
            yield KeyColumns(table, tuple(names[number] for number in columns), is_view=False)
        for view, traced in self._views.get(table, {}).items():
            if all(number in traced for number in columns):
                for combination in product(*(traced[number] for number in columns)):
                    yield KeyColumns(view, combination, is_view=True)

    def primary_keys(self, constraints: Iterable[ConstraintRow]) -> dict[int, tuple[str, ...]]:
        """Return the primary key of each relation that has one.

        A view has the keys of all tables whose key columns it selects, each by the first combination of columns, in the
        view's column order.
        """
        keys_of: dict[int, list[tuple[str, ...]]] = defaultdict(list)
        for constraint in constraints:
            if constraint.kind == "p":
                seen = set()
                for key_columns in self.in_relations(constraint.relation, constraint.columns):
                    if key_columns.relation not in seen:
                        seen.add(key_columns.relation)
                        keys_of[key_columns.relation].append(key_columns.columns)
        return {relation: self._joined(relation, keys) for relation, keys in keys_of.items()}

    def _joined(self, relation: int, keys: list[tuple[str, ...]]) -> tuple[str, ...]:
        if len(keys) > 1:
            place = {name: number for number, name in self._names[relation].items()}
            keys.sort(key=lambda key: min(place[name] for name in key))
        return tuple(name for key in keys for name in key)
