"""Generates TypeScript types: the `Database` type that the official clients take, and short names for its parts (pure).

The shape follows the official generator: Tables with Row, Insert, Update and Relationships; Views, Functions, Enums,
CompositeTypes; Tables<>, TablesInsert<>, TablesUpdate<>, Enums<>, CompositeTypes<>, Constants. Everything is sorted by
name, so that two runs generate the same file.
"""

import json
import re
from collections.abc import Iterable, Sequence
from importlib import resources

from workers.project.types.model import (
    TypegenArgument,
    TypegenColumn,
    TypegenDatabase,
    TypegenForeignKey,
    TypegenFunction,
    TypegenRelation,
    TypegenType,
)
from workers.project.types.schema_parts import (
    COMPOSITE,
    TABLES,
    TypegenSchema,
    base_type,
    columns_of,
    computed_of,
    inputs_of,
    links_of,
    outputs_of,
    relation_of,
    schemas_of,
    takes_row,
)

_WIDTH = 80
_NONE = "[_ in never]: never"
_NO_ARGUMENTS = "Record<PropertyKey, never>"
"""Not `never`: the clients would read that as a computed field of every table."""
_BODY_ARGUMENT = "unnamed json/jsonb parameter"
_WORD = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_NUMBERS = ("int2", "int4", "int8", "float4", "float8", "numeric")
_TEXTS = (
    "bytea", "bpchar", "varchar", "date", "text", "citext", "time", "timetz", "timestamp", "timestamptz", "uuid",
    "vector", "interval",
)  # fmt: skip
_TYPES = {
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


def typescript(database: TypegenDatabase, *, version: str = "", with_computed: bool = True) -> str:
    """Return the whole file; `version` tells the clients which version of PostgREST answers.

    `with_computed`: relations list their computed fields by name, as the official command line has it since 3.0 and the metadata
    interface does not.
    """
    schemas = schemas_of(database)
    lines = [line for schema in schemas for line in _schema(database, schema, with_computed=with_computed)]
    body = _block("export type Database =", [*(_version(version) if version else ()), *lines])
    tail = resources.files("workers.project.types").joinpath("typescript_tail.ts").read_text(encoding="utf-8")
    return "\n".join([_JSON, *body, "", tail, *_constants(schemas), ""])


def _version(version: str) -> Lines:
    comment = [
        "// Allows to automatically instantiate createClient with right options",
        "// instead of createClient<Database, { PostgrestVersion: 'XX' }>(URL, KEY)",
    ]
    text = json.dumps(version, ensure_ascii=False)
    return [*comment, *_block("__InternalSupabase:", [f"PostgrestVersion: {text}"])]


def ts_type(database: TypegenDatabase, id: int) -> str:
    """Return the TypeScript type of a database type."""
    kind = base_type(database, id)
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
    return _TYPES.get(kind.name, "unknown")


def _path(kind: TypegenType, group: str) -> str:
    return f"Database[{json.dumps(kind.schema)}][{json.dumps(group)}][{json.dumps(kind.name)}]"


def _schema(database: TypegenDatabase, schema: TypegenSchema, *, with_computed: bool) -> Lines:
    tables = [line for table in schema.tables for line in _relation(database, table, with_computed)]
    views = [line for view in schema.views for line in _relation(database, view, with_computed)]
    functions = [
        line
        for name, overloads in schema.functions.items()
        for line in _functions(database, name, overloads, with_computed)
    ]
    enums = [line for enum in schema.enums for line in _enum(enum)]
    composites = [line for composite in schema.composites for line in _composite(database, composite)]
    groups = {
        "Tables": tables, "Views": views, "Functions": functions, "Enums": enums, "CompositeTypes": composites,
    }  # fmt: skip
    inner = [line for name, lines in groups.items() for line in _block(f"{name}:", lines or [_NONE])]
    return _block(f"{_key(schema.name)}:", inner)


def _relation(database: TypegenDatabase, relation: TypegenRelation, with_computed: bool) -> Lines:
    columns, computed = columns_of(relation), computed_of(database, relation)
    row = [f"{_key(column.name)}: {_of(database, column)}" for column in columns]
    row += [line for function in computed for line in _computed(database, function)]
    parts = _block("Row:", row)
    if with_computed:
        names = " | ".join(_text(function.name) for function in computed)
        parts.append(f"ComputedFields: {names or 'never'}")
    if relation.kind in TABLES:
        parts += _block(
            "Insert:", [_member(database, column, must=_is_required(column)) for column in columns]
        )
        parts += _block("Update:", [_member(database, column, must=False) for column in columns])
    members = [_through_view(database, column) for column in columns]
    parts += _block("Insert:", members) if relation.is_insertable else []
    parts += _block("Update:", members) if relation.is_updatable else []
    return _block(f"{_key(relation.name)}:", [*parts, *_relationships(links_of(database, relation))])


def _computed(database: TypegenDatabase, function: TypegenFunction) -> Lines:
    """Return a function of a relation's row as a column of it."""
    rows = _rows(database, function)
    if rows is not None:
        return _block(f"{_key(function.name)}:", rows, end="} | null")
    return [f"{_key(function.name)}: {_or_null(ts_type(database, function.returns))}"]


def _of(database: TypegenDatabase, column: TypegenColumn) -> str:
    kind = ts_type(database, column.type)
    if column.is_nullable:
        return _or_null(kind)
    return f"NonNullable<{kind}>" if kind == "Json" else kind


def _or_null(kind: str) -> str:
    """Add null; `unknown` already includes it."""
    return kind if kind == "unknown" else f"{kind} | null"


def _is_required(column: TypegenColumn) -> bool:
    return not (column.is_nullable or column.has_default)


def _member(database: TypegenDatabase, column: TypegenColumn, *, must: bool) -> str:
    if column.is_always_made:
        return f"{_key(column.name)}?: never"
    return f"{_key(column.name)}{'' if must else '?'}: {_of(database, column)}"


def _through_view(database: TypegenDatabase, column: TypegenColumn) -> str:
    if not column.is_updatable:
        return f"{_key(column.name)}?: never"
    return f"{_key(column.name)}?: {_or_null(ts_type(database, column.type))}"


def _relationships(links: Sequence[TypegenForeignKey]) -> Lines:
    if not links:
        return ["Relationships: []"]
    lines = ["Relationships: ["]
    for link in links:
        lines += [
            "  {",
            f"    foreignKeyName: {json.dumps(link.name)}",
            f"    columns: {json.dumps(link.columns)}",
            *([] if link.is_one_to_one is None else [f"    isOneToOne: {json.dumps(link.is_one_to_one)}"]),
            f"    referencedRelation: {json.dumps(link.referenced)}",
            f"    referencedColumns: {json.dumps(link.referenced_columns)}",
            "  },",
        ]
    return [*lines, "]"]


def _functions(
    database: TypegenDatabase, name: str, functions: Sequence[TypegenFunction], with_computed: bool
) -> Lines:
    """Return a function; overloads are a union."""
    if len(functions) == 1:
        return _one_line_or_block(
            f"{_key(name)}:", _function(database, functions[0], functions, with_computed)
        )
    lines = [f"{_key(name)}:"]
    for function in functions:
        first, *rest = _one_line_or_block("|", _function(database, function, functions, with_computed))
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    return lines


def _function(
    database: TypegenDatabase,
    function: TypegenFunction,
    overloads: Sequence[TypegenFunction],
    with_computed: bool,
) -> Lines:
    """Return the members between the braces of one function."""
    inputs = [
        line for argument in inputs_of(function) for line in _argument(database, argument, with_computed)
    ]
    arguments = _one_line_or_block("Args:", inputs) if inputs else [f"Args: {_NO_ARGUMENTS}"]
    returned, options = _returned(database, function)
    if error := _call_error(database, function, overloads, with_computed):
        returned = ["Returns: {", "  error: true", f"}} & {_text(error)}"]
    return [*arguments, *returned, *options]


def _argument(database: TypegenDatabase, argument: TypegenArgument, with_computed: bool) -> Lines:
    """Return an argument. A named row of a relation is what a client sends, which is without computed fields."""
    head = f"{_key(argument.name)}{'?' if argument.has_default else ''}:"
    kind = ts_type(database, argument.type)
    row = '["Row"]'
    if not (with_computed and argument.name and kind.endswith(row)):
        return [f"{head} {kind}"]
    relation = kind.removesuffix(row)
    return [f"{head} Omit<", f"  {kind},", f'  {relation}["ComputedFields"]', ">"]


def _call_error(
    database: TypegenDatabase,
    function: TypegenFunction,
    overloads: Sequence[TypegenFunction],
    with_computed: bool,
) -> str | None:
    """Return the error of a call by name: of an overload whose arguments match another one too, or of a column; else None."""
    name, inputs = f"{function.schema}.{function.name}", inputs_of(function)
    rivals = [other for other in overloads if other is not function and _is_rival(inputs, inputs_of(other))]
    if rivals:
        candidates = sorted([inputs, *map(inputs_of, rivals)], key=lambda some: some[0].type if some else 0)
        listed = ", ".join(f"{name}({_spelled(database, candidate)})" for candidate in candidates)
        return (
            f"Could not choose the best candidate function between: {listed}. Try renaming the parameters "
            "or the function itself in the database so function overloading can be resolved"
        )
    if takes_row(database, function) and (with_computed or _target(database, function) is None):
        return f"the function {name} with parameter or with a single {_BODY_ARGUMENT}, but no matches were found in the schema cache"
    return None


def _is_rival(mine: Sequence[TypegenArgument], other: Sequence[TypegenArgument]) -> bool:
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


def _spelled(database: TypegenDatabase, inputs: Sequence[TypegenArgument]) -> str:
    kinds = ((argument.name, database.types.get(argument.type)) for argument in inputs)
    return ", ".join(f"{name} => {kind.name if kind else 'unknown'}" for name, kind in kinds)


def _returned(database: TypegenDatabase, function: TypegenFunction) -> tuple[Lines, Lines]:
    """Return what a function returns; and for rows, what the clients need to select and embed from them."""
    if outputs := outputs_of(function):
        rows = [f"{_key(output.name)}: {ts_type(database, output.type)}" for output in outputs]
        return _block("Returns:", rows, end=f"}}{'[]' if function.returns_set else ''}"), []
    target = _target(database, function)
    is_one = not function.returns_set or function.is_one
    many = "" if not function.returns_set or (target and is_one) else "[]"
    options = _options(database, function, target, is_one=is_one) if target else []
    columns = _rows(database, function)
    if columns is not None:
        return _block("Returns:", columns, end=f"}}{many}"), options
    kind = ts_type(database, function.returns)
    return [f"Returns: {f'({kind})' if many and '|' in kind else kind}{many}"], options


def _options(database: TypegenDatabase, function: TypegenFunction, target: str, *, is_one: bool) -> Lines:
    source = database.types.get(function.arguments[0].type) if len(function.arguments) == 1 else None
    options = [
        f"from: {json.dumps(source.name if source and source.relation_kind else '*')}",
        f"to: {json.dumps(target)}",
        f"isOneToOne: {json.dumps(is_one)}",
        f"isSetofReturn: {json.dumps(function.returns_set)}",
    ]
    return _block("SetofOptions:", options)


def _target(database: TypegenDatabase, function: TypegenFunction) -> str | None:
    """Return the name of the relation or composite type whose rows a function returns."""
    kind = base_type(database, function.returns)
    return kind.name if kind and kind.relation_kind and kind.schema in database.schemas else None


def _rows(database: TypegenDatabase, function: TypegenFunction) -> Lines | None:
    """Return the columns of the relation whose rows a function returns; None if it returns something else."""
    relation = relation_of(database, base_type(database, function.returns))
    if relation is None:
        return None
    return [f"{_key(column.name)}: {_of(database, column)}" for column in columns_of(relation)]


def _enum(kind: TypegenType) -> Lines:
    line = f"{_key(kind.name)}: {' | '.join(map(_text, kind.labels)) or 'never'}"
    if len(line) + 6 <= _WIDTH:
        return [line]
    return [f"{_key(kind.name)}:", *(f"  | {_text(label)}" for label in kind.labels)]


def _composite(database: TypegenDatabase, relation: TypegenRelation) -> Lines:
    rows = [f"{_key(column.name)}: {_or_null(ts_type(database, column.type))}" for column in relation.columns]
    return _block(f"{_key(relation.name)}:", rows)


def _constants(schemas: Iterable[TypegenSchema]) -> Lines:
    inner: Lines = []
    for schema in schemas:
        enums = [line for enum in schema.enums for line in _list(enum)]
        empty = ["Enums: {},"]
        inner += _block(
            f"{_key(schema.name)}:", _block("Enums:", enums, end="},") if enums else empty, end="},"
        )
    return _block("export const Constants =", inner, end="} as const")


def _list(kind: TypegenType) -> Lines:
    line = f"{_key(kind.name)}: [{', '.join(map(_text, kind.labels))}],"
    if len(line) + 6 <= _WIDTH:
        return [line]
    return [f"{_key(kind.name)}: [", *(f"  {_text(label)}," for label in kind.labels), "],"]


def _block(head: str, lines: Iterable[str], end: str = "}") -> Lines:
    inner = [f"  {line}" for line in lines]
    return [f"{head} {{", *inner, end] if inner else [f"{head} {{{end}"]


def _one_line_or_block(head: str, lines: Sequence[str]) -> Lines:
    """Return members on one line if they fit, else as a block."""
    one = f"{head} {{ {'; '.join(lines)} }}"
    is_short = len(one) + 8 <= _WIDTH and not any(line.endswith(("{", "<")) for line in lines)
    return [one] if is_short else _block(head, lines)


def _text(value: str) -> str:
    """Quote a text with the quote character that needs fewer escapes."""
    quoted = json.dumps(value)
    if value.count('"') <= value.count("'"):
        return quoted
    return "'" + quoted[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def _key(name: str) -> str:
    return name if _WORD.fullmatch(name) else _text(name)
