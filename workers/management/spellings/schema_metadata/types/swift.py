"""Types in Swift: an enum for each schema with enums, and structs for rows, new rows and changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workers.management.spellings.schema_metadata.types.model import (
    GeneratorInput,
    Object,
    identifier,
    is_optional,
)
from workers.project.types.name_order import sort_key

_NO_WORD = re.compile(r"[^a-zA-Z0-9]")
_NO_WORDS = re.compile(r"[^a-zA-Z0-9]+")
_KEY_WORDS = ("in", "default", "case")
_TEXTS = "bytea bpchar varchar date text citext time timetz timestamp timestamptz interval vector"
_TYPES = {
    "bool": "Bool", "int2": "Int16", "int4": "Int32", "int8": "Int64", "float4": "Float", "float8": "Double",
    "numeric": "Decimal", "decimal": "Decimal", "uuid": "UUID", "json": "AnyJSON", "jsonb": "AnyJSON", "void": "Void",
    "record": "JSONObject", **dict.fromkeys(_TEXTS.split(), "String"),
}  # fmt: skip
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Attribute:
    """A member of a struct: its name in Swift, its type, its name in the database."""

    word: str
    type: str
    name: str
    is_identity: bool = False


def swift(database: GeneratorInput, access: str) -> str:
    """Return the whole file; `access` is the access level of every declaration."""
    lines = ["import Foundation", "import Supabase", ""]
    for schema in database.schemas:
        lines += [f"{access} enum {_type_word(schema)}Schema {{", *_schema(database, schema, access), "}"]
    return "\n".join(lines)


def swift_type(database: GeneratorInput, name: str, *, is_nullable: bool) -> str:
    """Return the Swift type of a database type by its name."""
    mark = "?" if is_nullable else ""
    if name in _TYPES:
        return _TYPES[name] + mark
    if name.startswith("_"):
        return f"[{swift_type(database, name[1:], is_nullable=False)}]{mark}"
    if any(type["name"] == name and type["enums"] for type in database.types):
        return _type_word(name) + mark
    if any(value["name"] == name for value in (*database.types, *database.views, *database.tables)):
        return f"{_type_word(name)}Select{mark}"
    return f"AnyJSON{mark}"


def _schema(database: GeneratorInput, schema: str, access: str) -> list[str]:
    lines: list[str] = []
    for type in database.types:
        if type["schema"] == schema and type["enums"]:
            cases = [(_property(label), label) for label in type["enums"]]
            lines += _enum(_type_word(type["name"]), "String, Codable, Hashable, Sendable", cases, access, 1)
    for table in _of(schema, (*database.tables, *database.foreign_tables)):
        for operation in ("Select", "Insert", "Update"):
            lines += _struct(
                f"{_type_word(table['name'])}{operation}", _attributes(database, table, operation), access
            )
    for view in _of(schema, (*database.views, *database.materialized_views)):
        lines += _struct(f"{_type_word(view['name'])}Select", _attributes(database, view, "Select"), access)
    for type in database.composites():
        if type["schema"] == schema:
            lines += _struct(_type_word(type["name"]), _composite(database, type), access)
    return lines


def _of(schema: str, relations: Sequence[Object]) -> list[Object]:
    """Return the relations of a schema, sorted by name."""
    return sorted(
        (relation for relation in relations if relation["schema"] == schema),
        key=lambda relation: sort_key(relation["name"]),
    )


def _attributes(database: GeneratorInput, relation: Object, operation: str) -> list[Attribute]:
    return [
        Attribute(
            _property(column["name"]),
            swift_type(database, column["format"], is_nullable=is_optional(column, operation)),
            column["name"],
            column["is_identity"],
        )
        for column in database.columns.get(relation["id"], ())
    ]


def _composite(database: GeneratorInput, type: Object) -> list[Attribute]:
    """Return the members of a composite type, which are known by the SQL spelling of their types."""
    return [
        Attribute(
            _type_word(attribute["name"]),
            swift_type(database, database.type_of(attribute["type_id"])["format"], is_nullable=False),
            attribute["name"],
        )
        for attribute in type["attributes"]
    ]


def _struct(name: str, attributes: Sequence[Attribute], access: str) -> list[str]:
    identity = next((attribute for attribute in attributes if attribute.is_identity), None)
    protocols = "Codable, Hashable, Sendable" + (", Identifiable" if identity else "")
    lines = [f"{_INDENT}{access} struct {name}: {protocols} {{"]
    if identity is not None and identity.word != "id":
        lines.append(f"{_INDENT * 2}{access} var id: {identity.type} {{ {identity.word} }}")
    lines += [f"{_INDENT * 2}{access} let {attribute.word}: {attribute.type}" for attribute in attributes]
    if attributes:
        cases = [(attribute.word, attribute.name) for attribute in attributes]
        lines += _enum("CodingKeys", "String, CodingKey", cases, access, 2)
    return [*lines, f"{_INDENT}}}"]


def _enum(name: str, protocols: str, cases: Sequence[tuple[str, str]], access: str, level: int) -> list[str]:
    indent = _INDENT * level
    return [
        f"{indent}{access} enum {name}: {protocols} {{",
        *[f"{indent}{_INDENT}case {word} = {_literal(value)}" for word, value in cases],
        f"{indent}}}",
    ]


def _literal(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    is_control = code < 0x20 or code in (0x7F, 0x2028, 0x2029)
    return _ESCAPES.get(character) or (f"\\u{{{code:x}}}" if is_control else character)


def _type_word(name: str) -> str:
    """Return a name in PascalCase; an underscore at its beginning stays."""
    prefix = "_" if name.startswith("_") else ""
    words = _NO_WORDS.split(name.removeprefix("_"))
    word = "".join(word[:1].upper() + word[1:] for word in words)
    return prefix + word if prefix and word else identifier(word, name, "X")


def _property(name: str) -> str:
    """Return a name in camelCase, quoted if it is a key word."""
    first, *more = (word.lower() for word in _NO_WORD.split(name))
    word = identifier(first + "".join(part[:1].upper() + part[1:] for part in more), name, "x")
    return f"`{word}`" if word in _KEY_WORDS else word
