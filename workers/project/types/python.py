"""Generates Python types: a pydantic model for the rows of each table and view, typed dictionaries for writes (pure).

Class names are the capitalized schema and relation: `PublicPosts`, `PublicPostsInsert`. A column name that is not a Python
identifier becomes a field with an alias in models, and keeps its spelling in the dictionaries.
"""

import json
import keyword
import re
from collections.abc import Iterable

from workers.project.types.model import TypegenColumn, TypegenDatabase, TypegenRelation, TypegenType
from workers.project.types.schema_parts import (
    COMPOSITE,
    TABLES,
    base_type,
    columns_of,
    schemas_of,
)

_HEAD = '''"""Types of the database. Made by `headwater gen types python`; do not edit."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from pydantic import BaseModel, Field
'''
_KNOWN = {
    "bool": "bool",
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "int"),
    **dict.fromkeys(("float4", "float8"), "float"),
    "numeric": "decimal.Decimal",
    **dict.fromkeys(
        ("bytea", "bpchar", "varchar", "text", "citext", "vector", "inet", "cidr", "name"), "str"
    ),
    "uuid": "uuid.UUID",
    "date": "datetime.date",
    **dict.fromkeys(("time", "timetz"), "datetime.time"),
    **dict.fromkeys(("timestamp", "timestamptz"), "datetime.datetime"),
    "interval": "str",
    **dict.fromkeys(("json", "jsonb"), "Any"),
    "void": "None",
}
_WRITTEN = {"decimal.Decimal": "float | str", "uuid.UUID": "str"}
_MOMENT = re.compile(r"datetime\.(?:datetime|date|time)")
_NOT_IN_WORDS = re.compile(r"\W+", re.ASCII)


def python(database: TypegenDatabase) -> str:
    """Return the whole file."""
    schemas = schemas_of(database)
    enums = [
        f"{_class(enum.schema, enum.name)}: TypeAlias = {_literal(enum)}"
        for schema in schemas
        for enum in schema.enums
    ]
    relations = [
        relation for schema in schemas for relation in (*schema.composites, *schema.tables, *schema.views)
    ]
    models = [_model(database, relation) for relation in relations]
    written = [
        relation
        for relation in relations
        if relation.kind in TABLES or relation.is_updatable or relation.is_insertable
    ]
    dictionaries = [
        _dictionary(database, relation, what) for relation in written for what in ("Insert", "Update")
    ]
    return "\n\n".join([_HEAD, *enums, *models, *dictionaries]) + "\n"


def py_type(database: TypegenDatabase, id: int) -> str:
    """Return the Python type of a database type, as it is read."""
    kind = base_type(database, id)
    if kind is None:
        return "Any"
    if kind.kind == "a":
        return f"list[{py_type(database, kind.element)} | None]"
    if kind.kind == "e":
        return _class(kind.schema, kind.name) if kind.schema in database.schemas else _literal(kind)
    if kind.relation_kind:
        return _class(kind.schema, kind.name) if kind.schema in database.schemas else "Any"
    return _KNOWN.get(kind.name, "Any")


def _model(database: TypegenDatabase, relation: TypegenRelation) -> str:
    name = _class(relation.schema, relation.name)
    used: set[str] = set()
    lines = [f"class {name}(BaseModel):", f'    """{_described(relation)}"""', ""]
    lines += [_field(database, column, used) for column in columns_of(relation)] or ["    pass"]
    return "\n".join(lines)


def _field(database: TypegenDatabase, column: TypegenColumn, used: set[str]) -> str:
    kind = py_type(database, column.type) + (" | None" if column.is_nullable else "")
    word = _word(column.name, used)
    default = "default=None, " if column.is_nullable else ""
    if word != column.name:
        return f"    {word}: {kind} = Field({default}alias={json.dumps(column.name)})"
    return f"    {word}: {kind}{' = None' if column.is_nullable else ''}"


def _dictionary(database: TypegenDatabase, relation: TypegenRelation, what: str) -> str:
    """Return the typed dictionary for writes, in the functional form, which accepts any key."""
    lines: list[str] = []
    for column in columns_of(relation):
        if column.is_always_made or not column.is_updatable:
            continue
        kind = _written(py_type(database, column.type)) + (" | None" if column.is_nullable else "")
        must = what == "Insert" and relation.kind in TABLES and not (column.is_nullable or column.has_default)
        lines.append(f"        {json.dumps(column.name)}: {kind if must else f'NotRequired[{kind}]'},")
    name = f"{_class(relation.schema, relation.name)}{what}"
    return "\n".join([f"{name} = TypedDict(", f'    "{name}",', "    {", *lines, "    },", ")"])


def _written(kind: str) -> str:
    """Return the type that JSON accepts for a read type."""
    for read, written in _WRITTEN.items():
        kind = kind.replace(read, written)
    return _MOMENT.sub("str", kind)


def _literal(kind: TypegenType) -> str:
    return f"Literal[{', '.join(map(json.dumps, kind.labels))}]" if kind.labels else "None"


def _class(schema: str, name: str) -> str:
    parts: Iterable[str] = (
        part for text in (schema, name) for part in _NOT_IN_WORDS.sub("_", text).split("_")
    )
    joined = "".join(part[:1].upper() + part[1:] for part in parts if part)
    return joined if joined.isidentifier() else f"T{joined}"


def _word(name: str, used: set[str]) -> str:
    """Return a valid field name of a model that is not in `used`, and add it there."""
    word = _NOT_IN_WORDS.sub("_", name).lstrip("_") or "field"
    if word[0].isdigit() or keyword.iskeyword(word) or _is_of_models(word):
        word = f"field_{word}"
    while word in used:
        word += "_"
    used.add(word)
    return word


def _is_of_models(word: str) -> bool:
    """Return whether pydantic's models already use this name."""
    return word.startswith("model_") or word in (
        "copy",
        "dict",
        "json",
        "schema",
        "validate",
        "construct",
        "fields",
    )


def _described(relation: TypegenRelation) -> str:
    what = {COMPOSITE: "The composite type", "v": "A row of the view", "m": "A row of the view"}
    name = f"{relation.schema}.{relation.name}".replace("\\", "").replace('"', "'")
    return f"{what.get(relation.kind, 'A row of the table')} {name}."
