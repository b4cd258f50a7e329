"""The input of a generator as data: objects of the catalog, each as the lists of the interface have it, in the order of their names."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workers.project.types.name_order import sort_key

Object = Mapping[str, Any]
_IN_IDENTIFIERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"})
"""Unicode's categories of letters and decimal digits."""


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


def identifier(word: str, name: str, prefix: str) -> str:
    """Return `word`, which the rule of postgres-meta makes of `name`, if an identifier may begin like it.

    That rule drops all but ASCII letters and digits, so nothing, or a digit at the beginning, may remain. Then the letters and digits
    of the name are used, with a prefix.
    """
    if word and not word[0].isdigit():
        return word
    return prefix + (word or "".join(sign for sign in name if unicodedata.category(sign) in _IN_IDENTIFIERS))


def is_optional(column: Object, operation: str) -> bool:
    """Return whether a value may be missing or null: in a row that is read, in a new row, in a change."""
    if operation == "Insert":
        has_value = column["is_identity"] or column["is_generated"] or bool(column["default_value"])
        return bool(column["is_nullable"] or has_value)
    return operation == "Update" or bool(column["is_nullable"])


def quoted(text: str) -> str:
    """Return a text in double quotes, escaped as in JSON."""
    return json.dumps(text, ensure_ascii=False)
