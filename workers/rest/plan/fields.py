"""Fields against the catalog: computed fields, JSON columns, domain representations.

Source: reference page "rest", sections 7.1, 7.2 and 23.
"""

from dataclasses import dataclass

from workers.database.catalog import Catalog, Column, Name, Relation
from workers.rest.model import Field, Options, PlannedField

_JSON = frozenset({"json", "jsonb"})


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a field is looked up: the relation whose row it belongs to, or none (rows of a bare record)."""

    catalog: Catalog
    options: Options
    relation: Relation | None

    def column(self, name: str) -> Column | None:
        return self.relation.columns.get(name) if self.relation else None

    def computed(self, name: str) -> tuple[Name, str] | None:
        """Give the function and type of a computed field; a column of the same name hides it."""
        if self.relation is None or name in self.relation.columns:
            return None
        for each in self.catalog.computed_fields.get((self.relation.schema, self.relation.name), ()):
            if each.function[1] == name:
                return each.function, each.type
        return None

    def has_representations(self) -> bool:
        """Tell whether some column is shown through a cast to json."""
        if self.relation is None:
            return False
        shown = self.catalog.representations.to_json
        return bool(shown) and any(column.type in shown for column in self.relation.columns.values())


def planned(scope: Scope, field: Field) -> PlannedField:
    """Resolve a field for selecting, filtering or ordering. Unknown names are left for the database to refuse."""
    column = scope.column(field.name)
    computed = None if column else scope.computed(field.name)
    kind = column.base_type if column else computed[1] if computed else ""
    own = column.type if column else kind
    shown = scope.catalog.representations
    if field.cast is not None:
        return PlannedField(
            field.name,
            field.path,
            field.cast,
            function=computed[0] if computed else None,
            is_json=kind in _JSON,
            is_tsvector=field.cast == "tsvector",
        )
    return PlannedField(
        name=field.name,
        path=field.path,
        function=computed[0] if computed else None,
        is_json=kind
        in _JSON,  # of rows that no relation describes the types are not known, so they are converted
        is_tsvector=kind == "tsvector",
        to_json=shown.to_json.get(own),
        from_text=shown.from_text.get(own),
    )
