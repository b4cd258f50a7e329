"""Types in Python as the interface writes them: a pydantic model for rows, typed dictionaries for new rows and changes."""

import re

from workers.management.spellings.schema_metadata.types.model import (
    GeneratorInput,
    Object,
    identifier,
    quoted,
)

_NO_WORD = re.compile(r"[^a-zA-Z0-9]")
_NO_WORDS = re.compile(r"[^a-zA-Z0-9]+")
_HEAD = """from __future__ import annotations

import datetime
import uuid
from typing import (
    Annotated,
    Any,
    List,
    Literal,
    Optional,
    TypedDict,
)
from typing_extensions import NotRequired, TypeAlias

from pydantic import BaseModel, Field, JsonValue"""
_TEXTS = (
    "bpchar varchar string text citext interval int4range int4multirange int8range int8multirange numrange nummultirange "
    "tsrange tsmultirange tstzrange tstzmultirange daterange datemultirange"
)
_TYPES = {
    "bool": "bool", "int2": "int", "int4": "int", "int8": "int", "float4": "float", "float8": "float",
    "numeric": "float", "bytea": "bytes", "date": "datetime.date", "time": "datetime.time", "timetz": "datetime.time",
    "timestamp": "datetime.datetime", "timestamptz": "datetime.datetime", "uuid": "uuid.UUID", "vector": "list[Any]",
    "json": "JsonValue", "jsonb": "JsonValue", "void": "None", "record": "dict[str, Any]",
    **dict.fromkeys(_TEXTS.split(), "str"),
}  # fmt: skip


class PythonTypes:
    """Writes the types. Types are found by their names alone; of several with one name the last counts."""

    def __init__(self, database: GeneratorInput) -> None:
        self._database = database
        self._types = {type["name"]: type for type in database.types}
        self._enums = {type["name"]: type for type in database.types if type["enums"]}

    def file(self) -> str:
        """Return the whole file."""
        database = self._database
        tables = [
            part
            for table in database.of_schemas(database.tables)
            for part in (
                self._model(table),
                self._dictionary(table, "Insert"),
                self._dictionary(table, "Update"),
            )
        ]
        views = [self._model(view) for view in database.of_schemas(database.views)]
        stored = [self._model(view) for view in database.of_schemas(database.materialized_views)]
        composites = [self._composite(type) for type in database.composites()]
        enums = [_enum(type) for type in self._enums.values()]
        parts = ["\n\n".join(part) for part in (enums, tables, views, stored, composites)]
        return "\n\n".join([_HEAD, *parts]).strip()

    def _type(self, name: str) -> str:
        if name.startswith("_"):
            return f"List[{self._type(name[1:])}]"
        if name in self._enums:
            return _class(self._enums[name])
        if name in _TYPES:
            return _TYPES[name]
        return _class(self._types[name]) if name in self._types else "Any"

    def _model(self, relation: Object) -> str:
        columns = self._database.columns.get(relation["id"], ())
        fields = [
            _field(column["name"], self._type(column["format"]), is_nullable=column["is_nullable"])
            for column in columns
        ]
        return _block(f"class {_class(relation)}(BaseModel):", fields)

    def _composite(self, type: Object) -> str:
        """Return the model of a composite type, whose members may all be null."""
        fields = [
            _field(
                attribute["name"],
                self._type(self._database.type_of(attribute["type_id"])["name"]),
                is_nullable=True,
            )
            for attribute in type["attributes"]
        ]
        return _block(f"class {_class(type)}(BaseModel):", fields)

    def _dictionary(self, table: Object, operation: str) -> str:
        lines = []
        for column in self._database.columns.get(table["id"], ()):
            type = _optional(self._type(column["format"]), column["is_nullable"])
            annotation = f"Annotated[{type}, Field(alias={quoted(column['name'])})]"
            has_value = column["is_nullable"] or column["is_identity"] or column["default_value"] is not None
            if operation == "Update" or has_value:
                annotation = f"NotRequired[{annotation}]"
            lines.append(f"    {_attribute(column['name'])}: {annotation}")
        return _block(f"class {_class(table)}{operation}(TypedDict):", lines)


def python(database: GeneratorInput) -> str:
    """Return the whole file."""
    return PythonTypes(database).file()


def _enum(type: Object) -> str:
    return f"{_class(type)}: TypeAlias = Literal[{', '.join(map(quoted, type['enums']))}]"


def _field(name: str, type: str, *, is_nullable: bool) -> str:
    return f"    {_attribute(name)}: {_optional(type, is_nullable)} = Field(alias={quoted(name)})"


def _optional(type: str, is_nullable: bool) -> str:
    return f"Optional[{type}]" if is_nullable else type


def _block(head: str, lines: list[str]) -> str:
    return "\n".join([head, *(lines or ["    pass"])])


def _class(value: Object) -> str:
    parts = (value["schema"], value["name"])
    word = "".join(word[:1].upper() + word[1:] for part in parts for word in _NO_WORD.split(part))
    return identifier(word, "".join(parts), "X")


def _attribute(name: str) -> str:
    word = "_".join(word.lower() for word in _NO_WORDS.split(name))
    return identifier(word if word.strip("_") else "", name, "x_")
