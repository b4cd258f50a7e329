"""Postgres types, defaults and comments as members of a Swagger 2.0 document. Pure.

Source: docs/reference/rest.md, section 17 ("Types", "Default", "Column description").
"""

import re

import msgspec

from workers.database.schema_cache.catalog import (
    Catalog,
    CatalogArgument,
    CatalogColumn,
    CatalogRelation,
    Relationship,
)

_INTEGER = {"smallint": "int32", "integer": "int32", "bigint": "int64"}
_NUMBER = frozenset({"numeric", "real", "double precision"})
_JSON = frozenset({"json", "jsonb"})
_LITERAL = re.compile(r"'((?:[^']|'')*)'(?:::.*)?", re.DOTALL)


def swagger_type(name: str) -> str | None:
    """Return the JSON type of a Postgres type; json may be any."""
    if name.endswith("[]"):
        return "array"
    if name in _INTEGER:
        return "integer"
    if name in _NUMBER:
        return "number"
    if name in _JSON:
        return None
    return "boolean" if name == "boolean" else "string"


def swagger_format(name: str) -> str:
    """Return the format of a Postgres type: its name, or the width of an integer."""
    return _INTEGER.get(name, name)


def typed(name: str) -> dict[str, object]:
    """Return `format`, `type` and, of an array, `items`."""
    shape: dict[str, object] = {"format": swagger_format(name)}
    kind = swagger_type(name)
    if kind is not None:
        shape["type"] = kind
    if kind == "array":
        inner = swagger_type(name.removesuffix("[]"))
        shape["items"] = {} if inner is None else {"type": inner}
    return shape


def column_property(catalog: Catalog, relation: CatalogRelation, column: CatalogColumn) -> dict[str, object]:
    """Return the property of a column in the definition of its relation."""
    shape = typed(column.type)
    if column.base_type and column.base_type != column.type:
        kind = swagger_type(column.base_type)
        shape |= {} if kind is None else {"type": kind}
    if column.max_length is not None:
        shape["maxLength"] = column.max_length
    default = _default(column)
    if default is not None:
        shape["default"] = default
    if column.enum:
        shape["enum"] = list(column.enum)
    description = column_description(catalog, relation, column)
    if description:
        shape["description"] = description
    return shape


def _default(column: CatalogColumn) -> object:
    """Return a default as a JSON value: a quoted literal loses its quotes, other expressions of texts stand as they are.

    For other types an expression (`nextval('s')`) is not a value and is left out.
    """
    if column.default is None:
        return None
    literal = _LITERAL.fullmatch(column.default)
    text = literal[1].replace("''", "'") if literal else column.default
    if swagger_type(column.base_type or column.type) in ("integer", "number", "boolean", None):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return None
    return text


def column_description(catalog: Catalog, relation: CatalogRelation, column: CatalogColumn) -> str | None:
    """Return a column's comment, with a note of the keys it belongs to."""
    notes = []
    if column.name in relation.primary_key:
        notes.append("This is a Primary Key.<pk/>")
    target = _foreign_key(catalog, relation, column.name)
    if target is not None:
        table, name = target
        notes.append(f"This is a Foreign Key to `{table}.{name}`.<fk table='{table}' column='{name}'/>")
    if not notes:
        return column.comment
    noted = "Note:\n" + "\n".join(notes)
    return f"{column.comment}\n\n{noted}" if column.comment else noted


def _foreign_key(catalog: Catalog, relation: CatalogRelation, column: str) -> tuple[str, str] | None:
    """Find what a column of a foreign key refers to: a table before a view of it, a key of one column before those of several."""
    references = [
        (relationship.target_is_view, len(relationship.columns), relationship.target[1], theirs)
        for relationship in catalog.relationships.get((relation.schema, relation.name), ())
        if isinstance(relationship, Relationship) and relationship.is_to_one and not relationship.is_parent
        for column_name, theirs in relationship.columns
        if column_name == column
    ]
    return min(references)[2:] if references else None


def argument_property(argument: CatalogArgument, schema: str) -> dict[str, object]:
    """Return the property of a function's argument; types of the request's schema go by their bare name."""
    return typed(argument.type.removeprefix(f"{schema}."))
