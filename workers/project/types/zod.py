"""Generates schemas of Zod: for rows, inserts and updates of tables and views, enums, composite types, arguments of functions (pure).

Each is a constant with a type of the same name: `PublicPostsRow`, `PublicPostsInsert`, `PublicPostsUpdate`. Values are those of the JSON that
REST answers, so moments and UUIDs are texts. The file works with versions 3 and 4 of Zod.
"""

import json
from collections.abc import Iterable, Iterator

from workers.project.types.class_names import class_name, class_names
from workers.project.types.model import (
    TypegenArgument,
    TypegenColumn,
    TypegenDatabase,
    TypegenRelation,
    TypegenType,
)
from workers.project.types.schema_parts import (
    COMPOSITE,
    TABLES,
    base_type,
    columns_of,
    inputs_of,
    schemas_of,
    takes_row,
)

_HEAD = """// Schemas of the database. Made by `headwater gen types zod`; do not edit.
import { z } from "zod"

export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[]
export const Json: z.ZodType<Json> = z.lazy(() =>
  z.union([z.string(), z.number(), z.boolean(), z.null(), z.record(z.string(), Json), z.array(Json)]),
)
"""
_JSON = "Json"
_NUMBERS = ("int2", "int4", "int8", "float4", "float8", "numeric", "oid")
_INTEGERS = ("int2", "int4", "int8", "oid")
_TEXTS = (
    "bytea", "bpchar", "varchar", "date", "text", "citext", "time", "timetz", "timestamp", "timestamptz", "uuid",
    "vector", "interval", "name", "inet", "cidr", "macaddr", "bit", "varbit", "money", "xml", "tsvector",
)  # fmt: skip
_KNOWN = {
    "bool": "z.boolean()",
    **dict.fromkeys(_NUMBERS, "z.number()"),
    **dict.fromkeys(_INTEGERS, "z.number().int()"),
    **dict.fromkeys(_TEXTS, "z.string()"),
    **dict.fromkeys(("json", "jsonb"), _JSON),
}


def zod(database: TypegenDatabase) -> str:
    """Return the whole file."""
    names = class_names(database)
    schemas = schemas_of(database)
    parts = [
        _constant(names[enum.schema, enum.name], _labels(enum)) for schema in schemas for enum in schema.enums
    ]
    relations = [part for schema in schemas for part in (*schema.composites, *schema.tables, *schema.views)]
    for relation in _by_use(database, relations):
        parts += _relation(database, names, relation)
    for schema in schemas:
        for name, overloads in schema.functions.items():
            for number, function in enumerate((f for f in overloads if not takes_row(database, f)), 1):
                arguments = [_argument(database, names, argument) for argument in inputs_of(function)]
                constant = f"{class_name(schema.name, name)}Args{number if number > 1 else ''}"
                if constant not in names.values():
                    parts.append(_constant(constant, _object(arguments)))
    return "\n".join([_HEAD, *parts])


def zod_type(database: TypegenDatabase, names: dict[tuple[str, str], str], id: int) -> str:
    """Return the schema of a database type, as an expression."""
    kind = base_type(database, id)
    if kind is None:
        return "z.unknown()"
    if kind.kind == "a":
        return f"z.array({zod_type(database, names, kind.element)}.nullable())"
    name = names.get((kind.schema, kind.name))
    if kind.kind == "e":
        return name or _labels(kind)
    if kind.relation_kind:
        suffix = "" if kind.relation_kind == COMPOSITE else "Row"
        return f"{name}{suffix}" if name else "z.unknown()"
    return _KNOWN.get(kind.name, "z.unknown()")


def _relation(
    database: TypegenDatabase, names: dict[tuple[str, str], str], relation: TypegenRelation
) -> Iterator[str]:
    """Yield the constants of a relation: what is read, and what may be written."""
    name, columns = names[relation.schema, relation.name], columns_of(relation)

    def member(column: TypegenColumn, *, optional: bool) -> tuple[str, str]:
        kind = zod_type(database, names, column.type) + (".nullable()" if column.is_nullable else "")
        return column.name, kind + (".optional()" if optional else "")

    row = [member(column, optional=False) for column in columns]
    if relation.kind == COMPOSITE:
        yield _constant(name, _object(row))
        return
    yield _constant(f"{name}Row", _object(row))
    is_table = relation.kind in TABLES
    written = [column for column in columns if not column.is_always_made and column.is_updatable]
    if is_table or relation.is_insertable:
        yield _constant(
            f"{name}Insert",
            _object(
                member(column, optional=not is_table or column.is_nullable or column.has_default)
                for column in written
            ),
        )
    if is_table or relation.is_updatable:
        yield _constant(f"{name}Update", _object(member(column, optional=True) for column in written))


def _argument(
    database: TypegenDatabase, names: dict[tuple[str, str], str], argument: TypegenArgument
) -> tuple[str, str]:
    kind = f"{zod_type(database, names, argument.type)}.nullable()"
    return argument.name, kind + (".optional()" if argument.has_default else "")


def _by_use(database: TypegenDatabase, relations: Iterable[TypegenRelation]) -> list[TypegenRelation]:
    """Return relations after those whose rows their columns hold. Postgres allows no circle among them."""
    left = {(relation.schema, relation.name): relation for relation in relations}
    ordered: list[TypegenRelation] = []

    def place(relation: TypegenRelation) -> None:
        if left.pop((relation.schema, relation.name), None) is None:
            return
        for column in relation.columns:
            kind = base_type(database, column.type)
            while kind is not None and kind.kind == "a":
                kind = base_type(database, kind.element)
            if kind is not None and (inner := left.get((kind.schema, kind.name))) is not None:
                place(inner)
        ordered.append(relation)

    for relation in list(left.values()):
        place(relation)
    return ordered


def _labels(kind: TypegenType) -> str:
    return f"z.enum([{', '.join(map(_text, kind.labels))}])" if kind.labels else "z.never()"


def _object(members: Iterable[tuple[str, str]]) -> str:
    lines = [f"  {_text(name)}: {kind}," for name, kind in members if name]
    return "\n".join(["z.object({", *lines, "})"]) if lines else "z.object({})"


def _constant(name: str, expression: str) -> str:
    return f"export const {name} = {expression}\nexport type {name} = z.infer<typeof {name}>\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
