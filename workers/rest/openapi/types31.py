"""Postgres types as JSON Schema 2020-12: what a value of each is in JSON. Pure.

`format` is the one of the OpenAPI format registry where a value always has that form, else the SQL name of the type.
Elements of arrays are shown without null and in one dimension, as generated clients expect them, although Postgres
holds both back from no array.
"""

import re

import msgspec

from workers.database.schema_cache.catalog import Catalog, CatalogColumn, CatalogRelation
from workers.rest.openapi.named_types import NamedType, NamedTypes
from workers.rest.openapi.scope import Object
from workers.rest.openapi.types import column_description

_BUILT_IN: dict[str, Object] = {
    "smallint": {"type": "integer", "format": "int16", "minimum": -(2**15), "maximum": 2**15 - 1},
    "integer": {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1},
    "bigint": {"type": "integer", "format": "int64"},
    "real": {"type": "number", "format": "float"},
    "double precision": {"type": "number", "format": "double"},
    "numeric": {"type": "number", "format": "numeric"},
    "boolean": {"type": "boolean"},
    "text": {"type": "string"},
    "character varying": {"type": "string"},
    "character": {"type": "string"},
    "uuid": {"type": "string", "format": "uuid"},
    "date": {"type": "string", "format": "date"},
    "timestamp with time zone": {"type": "string", "format": "date-time"},
    "timestamp without time zone": {"type": "string", "format": "date-time-local"},
    "time without time zone": {"type": "string", "format": "time-local"},
    "json": {},
    "jsonb": {},
    "record": {"type": "object"},
}
_ANY = frozenset(
    {"anyelement", "anyarray", "anynonarray", "anycompatible", "anycompatiblearray", "anycompatiblenonarray"}
)
_CAST = r'(?:::(?:"[^"]+"|[\w .,()\[\]])+)?'
_QUOTED = re.compile(rf"'((?:[^']|'')*)'{_CAST}", re.DOTALL)
_NUMBER = re.compile(rf"\(?(-?\d+(?:\.\d+)?)\)?{_CAST}")
_EMPTY_ARRAYS = ("'{}'::", "ARRAY[]::")
_KINDS: dict[object, type | tuple[type, ...]] = {
    "integer": int, "number": (int, float), "boolean": bool, "string": str, "array": list, "object": dict,
}  # fmt: skip


class TypeSchemas:
    """The schemas of one document's types. Composites become components, which `composites` holds by key."""

    def __init__(self, catalog: Catalog, named: NamedTypes, relations: frozenset[tuple[str, str]]) -> None:
        self._catalog, self._named, self._relations = catalog, named, relations
        self.composites: Object = {}

    def of(self, name: str) -> Object:
        """Return the schema of a type, by the catalog's name for it."""
        if name.endswith("[]"):
            return {"type": "array", "items": self.of(name.removesuffix("[]"))}
        named_type = self._named.types.get(name)
        if named_type is not None:
            return self._of_named(name, named_type)
        if name in _BUILT_IN:
            return dict(_BUILT_IN[name])
        return {} if name in _ANY else {"type": "string", "format": name}

    def _of_named(self, name: str, named_type: NamedType) -> Object:
        if named_type.has_json_form:
            return {"format": name}
        match named_type.kind:
            case "d":
                shape = {"format": name} | self.of(named_type.base or "text")
                if named_type.max_length is not None:
                    shape["maxLength"] = named_type.max_length
            case "e":
                shape = {"type": "string", "format": name, "enum": list(named_type.labels or ())}
            case "c":
                return self._reference(named_type)
            case _:
                shape = {"type": "string", "format": name}
        return shape | ({"description": named_type.comment} if named_type.comment else {})

    def _reference(self, named_type: NamedType) -> Object:
        if (named_type.schema, named_type.name) in self._relations:
            return reference(component_key(named_type.name))
        key = f"type.{component_key(named_type.schema)}.{component_key(named_type.name)}"
        if key not in self.composites:
            self.composites[key] = None  # its place; a type of this name within it refers to it
            about = {"description": named_type.comment} if named_type.comment else {}
            properties = {
                item.name: nullable(self.of(item.type))
                | ({"description": item.comment} if item.comment else {})
                for item in named_type.columns or ()
            }
            self.composites[key] = {"type": "object", **about, "properties": properties}
        return reference(key)

    def of_column(self, relation: CatalogRelation, column: CatalogColumn) -> Object:
        """Return the schema of a column, with its default, length, labels and comment."""
        is_named = column.type in self._named.types or not column.base_type
        shape = self.of(column.type if is_named else column.base_type)
        if column.enum and "$ref" not in shape:
            shape["enum"] = list(column.enum)
        if column.max_length is not None:
            shape["maxLength"] = column.max_length
        if column.nullable:
            shape = nullable(shape)
        if column.default is not None:
            shape |= _default(column.default, shape)
        if column.is_generated or column.is_identity_always:
            shape["readOnly"] = True
        description = column_description(self._catalog, relation, column)
        return shape | ({"description": description} if description else {})


def component_key(name: str) -> str:
    """Encode a name in `A-Za-z0-9_`; every other character becomes its code point between dashes, so that names stay distinct."""
    return re.sub(r"[^A-Za-z0-9_]", lambda sign: f"-{ord(sign[0]):x}-", name)


def reference(key: str) -> Object:
    """Refer to a component schema."""
    return {"$ref": f"#/components/schemas/{key}"}


def nullable(shape: Object) -> Object:
    """Return a schema that accepts null as well."""
    if "$ref" in shape:
        return {"anyOf": [shape, {"type": "null"}]}
    if "type" not in shape:
        return shape
    labels = shape.get("enum")
    labels_or_null: Object = {"enum": [*labels, None]} if isinstance(labels, list) else {}
    return shape | {"type": [shape["type"], "null"]} | labels_or_null


def _default(expression: str, shape: Object) -> Object:
    """Return `default` when the expression is a literal of the column's type, else the expression as it stands."""
    kind = shape.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    for value in _literals(expression, kinds):
        expected = _KINDS.get(kinds[0], object)
        if isinstance(value, expected) and (
            not isinstance(value, bool) or "boolean" in kinds or kind is None
        ):
            return {"default": value}
    return {"x-default-expression": expression}


def _literals(expression: str, kinds: list[object]) -> list[object]:
    """Read an expression as the value it may stand for: none, or one."""
    if expression.startswith(_EMPTY_ARRAYS) and "array" in kinds:
        return [[]]
    if expression in ("true", "false"):
        return [expression == "true"]
    quoted, number = _QUOTED.fullmatch(expression), _NUMBER.fullmatch(expression)
    if quoted is None and number is None:
        return []
    text = quoted[1].replace("''", "'") if quoted else number[1] if number else ""
    if quoted and "string" in kinds:
        return [text]
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return []
