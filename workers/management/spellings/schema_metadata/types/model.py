"""The input of a generator as data: objects of the catalog, each as the lists of the interface have it, in the order of their names."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workers.project.types.name_order import sort_key

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GeneratorInput:
    """Schemas by name, and objects sorted by schema and name. `columns` are those of a relation by its id."""

    schemas: Sequence[str]
    tables: Sequence[Object]
    foreign_tables: Sequence[Object]
    views: Sequence[Object]
    materialized_views: Sequence[Object]
    columns: Mapping[int, Sequence[Object]]
    types: Sequence[Object]

    def of_schemas(self, objects: Sequence[Object]) -> list[Object]:
        """Return the objects that are in one of the schemas."""
        return [value for value in objects if value["schema"] in self.schemas]

    def composites(self) -> list[Object]:
        """Return the composite types of the schemas."""
        return [value for value in self.of_schemas(self.types) if value["attributes"]]

    def type_of(self, id: int) -> Object:
        """Return a type by its id; an unknown one has names that no generator knows."""
        return next((value for value in self.types if value["id"] == id), {"name": "", "format": ""})


def by_name(objects: Sequence[Object]) -> list[Object]:
    """Return objects sorted by schema, name and id."""
    return sorted(
        objects, key=lambda value: (sort_key(value["schema"]), sort_key(value["name"]), value["id"])
    )


def by_column_name(columns: Sequence[Object]) -> dict[int, list[Object]]:
    """Return columns by their relations, sorted by name."""
    of_relation: dict[int, list[Object]] = {}
    for column in sorted(columns, key=lambda column: sort_key(column["name"])):
        of_relation.setdefault(column["table_id"], []).append(column)
    return of_relation


def is_optional(column: Object, operation: str) -> bool:
    """Return whether a value may be missing or null: in a row that is read, in a new row, in a change."""
    if operation == "Insert":
        has_value = column["is_identity"] or column["is_generated"] or bool(column["default_value"])
        return bool(column["is_nullable"] or has_value)
    return operation == "Update" or bool(column["is_nullable"])


def quoted(text: str) -> str:
    """Return a text in double quotes, escaped as in JSON."""
    return json.dumps(text, ensure_ascii=False)
