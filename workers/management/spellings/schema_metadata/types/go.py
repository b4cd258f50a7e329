"""Types in Go: a struct for the rows, the new rows and the changes of each table, and one for each view and composite type."""

import re
from collections.abc import Sequence

from workers.management.spellings.schema_metadata.types.model import (
    GeneratorInput,
    Object,
    identifier,
    is_optional,
    quoted,
)

_NO_WORD = re.compile(r"[^a-zA-Z0-9]")
_TEXTS = (
    "bpchar varchar date text citext time timetz timestamp timestamptz interval uuid vector int4range int4multirange "
    "int8range int8multirange numrange nummultirange tsrange tsmultirange tstzrange tstzmultirange daterange datemultirange"
)
_ANYTHING, _RECORD = "interface{}", "map[string]interface{}"
_TYPES = {
    "bool": "bool", "int2": "int16", "int4": "int32", "int8": "int64", "float4": "float32", "float8": "float64",
    "numeric": "float64", "bytea": "[]byte", "json": _ANYTHING, "jsonb": _ANYTHING, "void": _ANYTHING, "record": _RECORD,
    **dict.fromkeys(_TEXTS.split(), "string"),
}  # fmt: skip
_WITHOUT_POINTER = (_ANYTHING, _RECORD, "[]byte")
"""Types that have a null of their own."""
Field = tuple[str, str, str]


def go(database: GeneratorInput) -> str:
    """Return the whole file."""
    tables = [
        _relation(database, table, operation)
        for table in database.of_schemas(database.tables)
        for operation in ("Select", "Insert", "Update")
    ]
    views = [_relation(database, view, "Select") for view in database.of_schemas(database.views)]
    stored = [
        _relation(database, view, "Select") for view in database.of_schemas(database.materialized_views)
    ]
    composites = [_composite(database, type) for type in database.composites()]
    parts = ["\n\n".join(part) for part in (tables, views, stored, composites)]
    return "\n\n".join(["package database", *parts]).strip()


def go_type(database: GeneratorInput, name: str, *, is_nullable: bool) -> str:
    """Return the Go type of a database type by its name."""
    types = [type for type in database.types if type["name"] == name]
    go_name = "string" if any(type["enums"] for type in types) else _TYPES.get(name)
    if go_name is not None:
        return f"*{go_name}" if is_nullable and go_name not in _WITHOUT_POINTER else go_name
    if any(type["attributes"] for type in types):
        return _RECORD
    if name.startswith("_"):
        return f"[]{go_type(database, name[1:], is_nullable=is_nullable)} "  # postgres-meta writes this space
    return _ANYTHING


def _relation(database: GeneratorInput, relation: Object, operation: str) -> str:
    fields = [
        (
            _member(column["name"]),
            go_type(database, column["format"], is_nullable=is_optional(column, operation)),
            column["name"],
        )
        for column in database.columns.get(relation["id"], ())
    ]
    return _struct(f"{_type_word(relation)}{operation}", fields)


def _composite(database: GeneratorInput, type: Object) -> str:
    """Return the struct of a composite type. Enums and composite types inside it become `interface{}`, as in postgres-meta."""
    fields = [
        (
            _member(attribute["name"]),
            _attribute_type(database.type_of(attribute["type_id"])["format"]),
            attribute["name"],
        )
        for attribute in type["attributes"]
    ]
    return _struct(_type_word(type), fields)


def _attribute_type(format: str) -> str:
    if format.startswith("_"):
        return f"[]{_attribute_type(format[1:])} "  # as in columns
    return _TYPES.get(format, _ANYTHING)


def _struct(name: str, fields: Sequence[Field]) -> str:
    """Return a struct, whose members are aligned as gofmt does it."""
    longest = max((len(word) for word, _, _ in fields), default=0)
    longest_type = max((len(type) for _, type, _ in fields), default=0)
    lines = [f"  {word:<{longest}} {type:<{longest_type}} {_tag(name)}" for word, type, name in fields]
    return "\n".join([f"type {name} struct {{", "\n".join(lines), "}"])


def _tag(name: str) -> str:
    """Return the tag of a member: a raw text, or a quoted one if the name has a backtick."""
    tag = f"json:{quoted(name)}"
    return quoted(tag) if "`" in tag else f"`{tag}`"


def _type_word(value: Object) -> str:
    """Return the name of the struct of a relation or type."""
    name = f"{value['schema']}_{value['name']}"
    return identifier(_word(name), name, "X")


def _member(name: str) -> str:
    """Return the name of a member. It begins with a capital letter, because other packages must see it."""
    return identifier(_word(name), name, "X")


def _word(name: str) -> str:
    """Return a name in PascalCase by the rule of postgres-meta: all but ASCII letters and digits divide words."""
    return "".join(word[:1].upper() + word[1:] for word in _NO_WORD.split(name))
