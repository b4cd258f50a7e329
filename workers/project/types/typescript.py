"""Types for TypeScript: the `Database` type that the official clients take, and short names for its parts (pure).

The shape is that of the official generator: Tables with Row, Insert, Update and Relationships; Views, Functions, Enums,
CompositeTypes; Tables<>, TablesInsert<>, TablesUpdate<>, Enums<>, CompositeTypes<>, Constants. Everything is in the order
of its name, so that two runs give the same file.
"""

import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources

from workers.project.types.model import Argument, Column, Database, Function, Link, Relation, Type
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
    takes_row,
)

_WIDTH = 80
_NONE = "[_ in never]: never"
_NO_ARGUMENTS = "Record<PropertyKey, never>"
"""Not `never`: to the clients that would be a computed field of every table."""
_WORD = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_NUMBERS = ("int2", "int4", "int8", "float4", "float8", "numeric")
_TEXTS = (
    "bytea", "bpchar", "varchar", "date", "text", "citext", "time", "timetz", "timestamp", "timestamptz", "uuid",
    "vector", "interval",
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
        labels = " | ".join(map(_text, kind.labels)) or "never"
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
    row += [line for each in computed_of(database, relation) for line in _computed(database, each)]
    parts = _block("Row:", row)
    if relation.kind in TABLES:
        parts += _block("Insert:", [_given(database, column, must=_must(column)) for column in columns])
        parts += _block("Update:", [_given(database, column, must=False) for column in columns])
    shown = [_through_view(database, column) for column in columns]
    parts += _block("Insert:", shown) if relation.is_insertable else []
    parts += _block("Update:", shown) if relation.is_updatable else []
    return _block(f"{_key(relation.name)}:", [*parts, *_relationships(links_of(database, relation))])


def _computed(database: Database, function: Function) -> Lines:
    """Give a function of a relation's row as a column of it."""
    rows = _rows(database, function)
    if rows is not None:
        return _block(f"{_key(function.name)}:", rows, end="} | null")
    return [f"{_key(function.name)}: {_or_null(ts_type(database, function.returns))}"]


def _of(database: Database, column: Column) -> str:
    shown = ts_type(database, column.type)
    if column.is_nullable:
        return _or_null(shown)
    return f"NonNullable<{shown}>" if shown == "Json" else shown


def _or_null(shown: str) -> str:
    """Add null; what is not known may be it anyway."""
    return shown if shown == "unknown" else f"{shown} | null"


def _must(column: Column) -> bool:
    return not (column.is_nullable or column.has_default)


def _given(database: Database, column: Column, *, must: bool) -> str:
    if column.is_always_made:
        return f"{_key(column.name)}?: never"
    return f"{_key(column.name)}{'' if must else '?'}: {_of(database, column)}"


def _through_view(database: Database, column: Column) -> str:
    if not column.is_updatable:
        return f"{_key(column.name)}?: never"
    return f"{_key(column.name)}?: {_or_null(ts_type(database, column.type))}"


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
        return _hung(f"{_key(name)}:", _function(database, functions[0], functions))
    lines = [f"{_key(name)}:"]
    for function in functions:
        first, *rest = _hung("|", _function(database, function, functions))
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    return lines


def _function(database: Database, function: Function, overloads: Sequence[Function]) -> Lines:
    """Give what stands between the braces of one function."""
    inputs = [
        f"{_key(each.name)}{'?' if each.has_default else ''}: {ts_type(database, each.type)}"
        for each in inputs_of(function)
    ]
    arguments = _hung("Args:", inputs) if inputs else [f"Args: {_NO_ARGUMENTS}"]
    returned, options = _returned(database, function)
    if refusal := _refusal(database, function, overloads):
        returned = ["Returns: {", "  error: true", f"}} & {_text(refusal)}"]
    return [*arguments, *returned, *options]


def _refusal(database: Database, function: Function, overloads: Sequence[Function]) -> str | None:
    """Say what a call by name is refused with: of an overload that arguments cannot tell from another, or of a column."""
    name, inputs = f"{function.schema}.{function.name}", inputs_of(function)
    rivals = [each for each in overloads if each is not function and _is_rival(inputs, inputs_of(each))]
    if rivals:
        given = sorted([inputs, *map(inputs_of, rivals)], key=lambda each: each[0].type if each else 0)
        shown = ", ".join(f"{name}({_spelled(database, each)})" for each in given)
        return (
            f"Could not choose the best candidate function between: {shown}. Try renaming the parameters "
            "or the function itself in the database so function overloading can be resolved"
        )
    if takes_row(database, function) and _target(database, function) is None:
        return f"{name} takes a row: it is read as a column of it, and cannot be called by name"
    return None


def _is_rival(mine: Sequence[Argument], other: Sequence[Argument]) -> bool:
    if len(other) != 1:
        return False
    if not mine:
        return not other[0].name and other[0].has_default
    return (
        len(mine) == 1
        and bool(mine[0].name)
        and mine[0].name == other[0].name
        and mine[0].type != other[0].type
    )


def _spelled(database: Database, inputs: Sequence[Argument]) -> str:
    kinds = ((each.name, database.types.get(each.type)) for each in inputs)
    return ", ".join(f"{name} => {kind.name if kind else 'unknown'}" for name, kind in kinds)


def _returned(database: Database, function: Function) -> tuple[Lines, Lines]:
    """Give what a function returns; and for rows, what the clients need to select and embed from them."""
    if outputs := outputs_of(function):
        rows = [f"{_key(each.name)}: {ts_type(database, each.type)}" for each in outputs]
        return _block("Returns:", rows, end=f"}}{'[]' if function.returns_set else ''}"), []
    target = _target(database, function)
    is_one = not function.returns_set or function.is_one
    many = "" if not function.returns_set or (target and is_one) else "[]"
    options = _options(database, function, target, is_one=is_one) if target else []
    columns = _rows(database, function)
    if columns is not None:
        return _block("Returns:", columns, end=f"}}{many}"), options
    shown = ts_type(database, function.returns)
    return [f"Returns: {f'({shown})' if many and '|' in shown else shown}{many}"], options


def _options(database: Database, function: Function, target: str, *, is_one: bool) -> Lines:
    given = database.types.get(function.arguments[0].type) if len(function.arguments) == 1 else None
    options = [
        f"from: {json.dumps(given.name if given and given.relation_kind else '*')}",
        f"to: {json.dumps(target)}",
        f"isOneToOne: {json.dumps(is_one)}",
        f"isSetofReturn: {json.dumps(function.returns_set)}",
    ]
    return _block("SetofOptions:", options)


def _target(database: Database, function: Function) -> str | None:
    """Name the relation or composite type whose rows a function returns."""
    kind = plain(database, function.returns)
    return kind.name if kind and kind.relation_kind and kind.schema in database.schemas else None


def _rows(database: Database, function: Function) -> Lines | None:
    """Give the columns of the relation whose rows a function returns; None if it returns others."""
    relation = relation_of(database, plain(database, function.returns))
    if relation is None:
        return None
    return [f"{_key(column.name)}: {_of(database, column)}" for column in columns_of(relation)]


def _enum(kind: Type) -> Lines:
    line = f"{_key(kind.name)}: {' | '.join(map(_text, kind.labels)) or 'never'}"
    if len(line) + 6 <= _WIDTH:
        return [line]
    return [f"{_key(kind.name)}:", *(f"  | {_text(label)}" for label in kind.labels)]


def _composite(database: Database, relation: Relation) -> Lines:
    rows = [f"{_key(each.name)}: {_or_null(ts_type(database, each.type))}" for each in relation.columns]
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
    line = f"{_key(kind.name)}: [{', '.join(map(_text, kind.labels))}],"
    if len(line) + 6 <= _WIDTH:
        return [line]
    return [f"{_key(kind.name)}: [", *(f"  {_text(label)}," for label in kind.labels), "],"]


def _block(head: str, lines: Iterable[str], end: str = "}") -> Lines:
    return [f"{head} {{", *(f"  {line}" for line in lines), end]


def _hung(head: str, lines: Sequence[str]) -> Lines:
    """Give members on one line where they fit, else as a block."""
    one = f"{head} {{ {'; '.join(lines)} }}"
    is_short = len(one) + 8 <= _WIDTH and not any(line.endswith("{") for line in lines)
    return [one] if is_short else _block(head, lines)


def _text(value: str) -> str:
    """Quote a text with the sign that needs fewer escapes."""
    shown = json.dumps(value)
    if value.count('"') <= value.count("'"):
        return shown
    return "'" + shown[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def _key(name: str) -> str:
    return name if _WORD.fullmatch(name) else json.dumps(name)
