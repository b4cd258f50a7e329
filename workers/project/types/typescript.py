"""Types for TypeScript: the `Database` type that the official clients take, and short names for its parts (pure).

The shape is that of the official generator: Tables with Row, Insert, Update and Relationships; Views, Functions, Enums,
CompositeTypes; Tables<>, TablesInsert<>, TablesUpdate<>, Enums<>, CompositeTypes<>, Constants. Everything is in the order
of its name, so that two runs give the same file.
"""

import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources

from workers.project.types.model import Column, Database, Function, Link, Relation, Type
from workers.project.types.shape import (
    COMPOSITE,
    TABLES,
    Schema,
    columns_of,
    computed_of,
    inputs_of,
    links_of,
    outputs_of,
    plain,
    relation_of,
    schemas_of,
)

_WIDTH = 80
_NONE = "[_ in never]: never"
_WORD = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_NUMBERS = ("int2", "int4", "int8", "float4", "float8", "numeric")
_TEXTS = (
    "bytea", "bpchar", "varchar", "date", "text", "citext", "time", "timetz", "timestamp", "timestamptz", "uuid",
    "vector",
)  # fmt: skip
_KNOWN = {
    "bool": "boolean",
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys(_TEXTS, "string"),
    **dict.fromkeys(("json", "jsonb"), "Json"),
    "void": "undefined",
    "record": "Record<string, unknown>",
}
_JSON = """export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]
"""

Lines = list[str]


def typescript(database: Database) -> str:
    """Give the whole file."""
    schemas = schemas_of(database)
    body = _block("export type Database =", [line for each in schemas for line in _schema(database, each)])
    tail = resources.files("workers.project.types").joinpath("typescript_tail.ts").read_text(encoding="utf-8")
    return "\n".join([_JSON, *body, "", tail, *_constants(schemas), ""])


def ts_type(database: Database, id: int) -> str:
    """Give a type of the database in TypeScript."""
    kind = plain(database, id)
    if kind is None:
        return "unknown"
    if kind.kind == "a":
        inner = ts_type(database, kind.element)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind.kind == "e":
        labels = " | ".join(map(json.dumps, kind.labels)) or "never"
        return _path(kind, "Enums") if kind.schema in database.schemas else labels
    if kind.relation_kind == COMPOSITE:
        return _path(kind, "CompositeTypes") if kind.schema in database.schemas else "unknown"
    if kind.relation_kind and kind.schema in database.schemas:
        return _path(kind, "Tables" if kind.relation_kind in TABLES else "Views") + '["Row"]'
    return _KNOWN.get(kind.name, "unknown")


def _path(kind: Type, group: str) -> str:
    return f"Database[{json.dumps(kind.schema)}][{json.dumps(group)}][{json.dumps(kind.name)}]"


def _schema(database: Database, schema: Schema) -> Lines:
    tables = [line for each in schema.tables for line in _relation(database, each)]
    views = [line for each in schema.views for line in _relation(database, each)]
    functions = [line for name, each in schema.functions.items() for line in _functions(database, name, each)]
    enums = [line for each in schema.enums for line in _enum(each)]
    composites = [line for each in schema.composites for line in _composite(database, each)]
    groups = {
        "Tables": tables, "Views": views, "Functions": functions, "Enums": enums, "CompositeTypes": composites,
    }  # fmt: skip
    inner = [line for name, lines in groups.items() for line in _block(f"{name}:", lines or [_NONE])]
    return _block(f"{_key(schema.name)}:", inner)


def _relation(database: Database, relation: Relation) -> Lines:
    columns = columns_of(relation)
    row = [f"{_key(column.name)}: {_of(database, column)}" for column in columns]
    row += [
        f"{_key(each.name)}: {ts_type(database, each.returns)} | null"
        for each in computed_of(database, relation)
    ]
    parts = _block("Row:", row)
    if relation.kind in TABLES:
        parts += _block("Insert:", [_given(database, column, must=_must(column)) for column in columns])
        parts += _block("Update:", [_given(database, column, must=False) for column in columns])
    elif relation.is_updatable:
        shown = [_through_view(database, column) for column in columns]
        parts += [*_block("Insert:", shown), *_block("Update:", shown)]
    return _block(f"{_key(relation.name)}:", [*parts, *_relationships(links_of(database, relation))])


def _of(database: Database, column: Column) -> str:
    return ts_type(database, column.type) + (" | null" if column.is_nullable else "")


def _must(column: Column) -> bool:
    return not (column.is_nullable or column.has_default)


def _given(database: Database, column: Column, *, must: bool) -> str:
    if column.is_always_made:
        return f"{_key(column.name)}?: never"
    return f"{_key(column.name)}{'' if must else '?'}: {_of(database, column)}"


def _through_view(database: Database, column: Column) -> str:
    if not column.is_updatable:
        return f"{_key(column.name)}?: never"
    return f"{_key(column.name)}?: {ts_type(database, column.type)} | null"


def _relationships(links: Sequence[Link]) -> Lines:
    if not links:
        return ["Relationships: []"]
    lines = ["Relationships: ["]
    for link in links:
        lines += [
            "  {",
            f"    foreignKeyName: {json.dumps(link.name)}",
            f"    columns: {json.dumps(link.columns)}",
            f"    isOneToOne: {json.dumps(link.is_one_to_one)}",
            f"    referencedRelation: {json.dumps(link.referenced)}",
            f"    referencedColumns: {json.dumps(link.referenced_columns)}",
            "  },",
        ]
    return [*lines, "]"]


def _functions(database: Database, name: str, functions: Sequence[Function]) -> Lines:
    """Give a function; overloads are a union."""
    if len(functions) == 1:
        return _hung(f"{_key(name)}:", _function(database, functions[0]))
    lines = [f"{_key(name)}:"]
    for function in functions:
        first, *rest = _hung("|", _function(database, function))
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    return lines


def _function(database: Database, function: Function) -> Lines:
    """Give what stands between the braces of one function."""
    inputs = [
        f"{_key(each.name)}{'?' if each.has_default else ''}: {ts_type(database, each.type)}"
        for each in inputs_of(function)
    ]
    arguments = _hung("Args:", inputs) if inputs else ["Args: never"]
    returned, options = _returned(database, function)
    return [*arguments, *returned, *options]


def _returned(database: Database, function: Function) -> tuple[Lines, Lines]:
    """Give what a function returns; and for rows of a table, what the clients need to embed from them."""
    many = "[]" if function.returns_set else ""
    if outputs := outputs_of(function):
        rows = [f"{_key(each.name)}: {ts_type(database, each.type)}" for each in outputs]
        return _block("Returns:", rows, end=f"}}{many}"), []
    kind = plain(database, function.returns)
    relation = relation_of(database, kind)
    if relation is None:
        shown = ts_type(database, function.returns)
        return [f"Returns: {f'({shown})' if many and '|' in shown else shown}{many}"], []
    rows = [f"{_key(column.name)}: {_of(database, column)}" for column in columns_of(relation)]
    inputs = inputs_of(function)
    taken = relation_of(database, plain(database, inputs[0].type)) if len(inputs) == 1 else None
    is_one = not function.returns_set or function.is_one
    options = [
        f"from: {json.dumps(taken.name if taken else '*')}",
        f"to: {json.dumps(relation.name)}",
        f"isOneToOne: {json.dumps(is_one)}",
        f"isSetofReturn: {json.dumps(function.returns_set)}",
    ]
    return _block("Returns:", rows, end=f"}}{many}"), _block("SetofOptions:", options)


def _enum(kind: Type) -> Lines:
    line = f"{_key(kind.name)}: {' | '.join(map(json.dumps, kind.labels)) or 'never'}"
    if len(line) + 6 <= _WIDTH:
        return [line]
    return [f"{_key(kind.name)}:", *(f"  | {json.dumps(label)}" for label in kind.labels)]


def _composite(database: Database, relation: Relation) -> Lines:
    rows = [f"{_key(each.name)}: {ts_type(database, each.type)} | null" for each in relation.columns]
    return _block(f"{_key(relation.name)}:", rows)


def _constants(schemas: Iterable[Schema]) -> Lines:
    inner: Lines = []
    for schema in schemas:
        enums = [line for each in schema.enums for line in _list(each)]
        empty = ["Enums: {},"]
        inner += _block(
            f"{_key(schema.name)}:", _block("Enums:", enums, end="},") if enums else empty, end="},"
        )
    return _block("export const Constants =", inner, end="} as const")


def _list(kind: Type) -> Lines:
    line = f"{_key(kind.name)}: [{', '.join(map(json.dumps, kind.labels))}],"
    if len(line) + 6 <= _WIDTH:
        return [line]
    return [f"{_key(kind.name)}: [", *(f"  {json.dumps(label)}," for label in kind.labels), "],"]


def _block(head: str, lines: Iterable[str], end: str = "}") -> Lines:
    return [f"{head} {{", *(f"  {line}" for line in lines), end]


def _hung(head: str, lines: Sequence[str]) -> Lines:
    """Give members on one line where they fit, else as a block."""
    one = f"{head} {{ {'; '.join(lines)} }}"
    is_short = len(one) + 8 <= _WIDTH and not any(line.endswith("{") for line in lines)
    return [one] if is_short else _block(head, lines)


def _key(name: str) -> str:
    return name if _WORD.fullmatch(name) else json.dumps(name)
