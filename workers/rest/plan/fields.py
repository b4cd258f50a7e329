"""Fields against the catalog: computed fields, JSON columns, domain representations.

Source: docs/reference/rest.md, sections 7.1, 7.2 and 23.
"""

from operator import attrgetter

from msgspec import Struct

from workers.database.schema_cache.catalog import Catalog, CatalogRelation, Name
from workers.rest.model import FieldPath, PlannedField, RestOptions

_JSON = frozenset({"json", "jsonb"})
_TYPE = attrgetter("type")
_WHOLE_ROW, _ALL_COLUMNS = FieldPath("*"), PlannedField("*")


class FieldScope(Struct, frozen=True):
    """Where a field is looked up: the relation whose row it belongs to, or none (rows of a bare record)."""

    catalog: Catalog
    options: RestOptions
    relation: CatalogRelation | None

    def computed(self, name: str) -> tuple[Name, str] | None:
        """Return the function and type of a computed field; a column of the same name hides it."""
        if self.relation is None or name in self.relation.columns:
            return None
        for computed in self.catalog.computed_fields.get((self.relation.schema, self.relation.name), ()):
            if computed.function[1] == name:
                return computed.function, computed.type
        return None

    def has_representations(self) -> bool:
        """Return whether some column is shown through a cast to json."""
        if self.relation is None:
            return False
        representations = self.catalog.representations.to_json
        if not representations:
            return False
        return not representations.keys().isdisjoint(map(_TYPE, self.relation.columns.values()))


def resolve_field(scope: FieldScope, field: FieldPath) -> PlannedField:
    """Resolve a field for selecting, filtering or ordering. Unknown names are left for the database to refuse."""
    relation = scope.relation
    column = relation.columns.get(field.name) if relation is not None else None
    if column is None and field == _WHOLE_ROW:
        return _ALL_COLUMNS
    computed = None if column else scope.computed(field.name)
    kind = column.base_type if column else computed[1] if computed else ""
    type_name = column.type if column else kind
    representations = scope.catalog.representations
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
        to_json=representations.to_json.get(type_name),
        from_text=representations.from_text.get(type_name),
    )
