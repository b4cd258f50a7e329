"""The parts of a schema that appear in generated types, sorted, for every language (pure)."""

from dataclasses import dataclass

from workers.project.types.model import (
    TypegenArgument,
    TypegenColumn,
    TypegenDatabase,
    TypegenForeignKey,
    TypegenFunction,
    TypegenRelation,
    TypegenType,
)
from workers.project.types.name_order import name_key, sort_key

TABLES = ("r", "p", "f")
VIEWS = ("v", "m")
COMPOSITE = "c"
_INPUT = ("i", "b", "v")
_BODIES = frozenset({("pg_catalog", "json"), ("pg_catalog", "jsonb"), ("pg_catalog", "text")})
"""Types of an unnamed argument that takes a whole request body."""


@dataclass(frozen=True, slots=True)
class TypegenSchema:
    """One schema; every list is sorted by name."""

    name: str
    tables: list[TypegenRelation]
    views: list[TypegenRelation]
    functions: dict[str, list[TypegenFunction]]
    enums: list[TypegenType]
    composites: list[TypegenRelation]


def schemas_of(database: TypegenDatabase) -> list[TypegenSchema]:
    """Return the schemas, sorted by name."""
    return [_schema(database, name) for name in sorted(database.schemas, key=sort_key)]


def columns_of(relation: TypegenRelation) -> list[TypegenColumn]:
    """Return the columns of a relation, sorted by name."""
    return sorted(relation.columns, key=name_key)


def links_of(database: TypegenDatabase, relation: TypegenRelation) -> list[TypegenForeignKey]:
    """Return the foreign keys of a relation, sorted by name."""
    mine = (
        link for link in database.links if (link.schema, link.relation) == (relation.schema, relation.name)
    )
    return sorted(
        mine, key=lambda link: (sort_key(link.name), sort_key(link.referenced), link.referenced_columns)
    )


def inputs_of(function: TypegenFunction) -> list[TypegenArgument]:
    """Return the arguments that a client passes, sorted by name."""
    return sorted(_inputs(function), key=name_key)


def _inputs(function: TypegenFunction) -> list[TypegenArgument]:
    """Return the arguments that a client passes, in their order: keys of names cost much where thousands of functions are looked at."""
    return [argument for argument in function.arguments if argument.mode in _INPUT]


def outputs_of(function: TypegenFunction) -> list[TypegenArgument]:
    """Return the output arguments of a function, sorted by name."""
    return sorted(
        (argument for argument in function.arguments if argument.mode in ("o", "b", "t")), key=name_key
    )


def computed_of(database: TypegenDatabase, relation: TypegenRelation) -> list[TypegenFunction]:
    """Return the functions whose only argument is a row of the relation; clients read them as columns."""
    functions = [
        function
        for function in database.functions
        if function.schema == relation.schema and len(inputs := _inputs(function)) == 1
        and (row := database.types.get(inputs[0].type)) is not None
        and row.relation_kind in (*TABLES, *VIEWS) and (row.schema, row.name) == (relation.schema, relation.name)
    ]  # fmt: skip
    return sorted(functions, key=name_key)


def base_type(database: TypegenDatabase, id: int) -> TypegenType | None:
    """Return a type; for a domain its base type."""
    kind = database.types.get(id)
    return database.types.get(kind.base) if kind and kind.base else kind


def relation_of(database: TypegenDatabase, kind: TypegenType | None) -> TypegenRelation | None:
    """Return the table or view whose row type this is, if it is in one of the schemas."""
    if kind is None or kind.relation_kind not in (*TABLES, *VIEWS):
        return None
    matches = (
        relation
        for relation in database.relations
        if (relation.schema, relation.name) == (kind.schema, kind.name)
    )
    return next(matches, None)


def _schema(database: TypegenDatabase, name: str) -> TypegenSchema:
    relations = sorted((relation for relation in database.relations if relation.schema == name), key=name_key)
    functions: dict[str, list[TypegenFunction]] = {}
    for function in sorted(
        _callable(database), key=lambda function: (name_key(function), sort_key(function.signature))
    ):
        if function.schema == name:
            functions.setdefault(function.name, []).append(function)
    enums = sorted(
        (kind for kind in database.types.values() if kind.schema == name and kind.kind == "e"), key=name_key
    )
    return TypegenSchema(
        name,
        [relation for relation in relations if relation.kind in TABLES],
        [relation for relation in relations if relation.kind in VIEWS],
        functions,
        enums,
        [relation for relation in relations if relation.kind == COMPOSITE],
    )


def takes_row(database: TypegenDatabase, function: TypegenFunction) -> bool:
    """Return whether the only argument of a function is an unnamed row: clients read it as a column, or embed it."""
    inputs = _inputs(function)
    kind = database.types.get(inputs[0].type) if len(inputs) == 1 and not inputs[0].name else None
    return kind is not None and bool(kind.relation_kind)


def _callable(database: TypegenDatabase) -> list[TypegenFunction]:
    """Return the functions that clients can call: all arguments named, or one argument for the body, or the row of a relation."""
    return [
        function
        for function in database.functions
        if all(
            argument.name or (_is_body(database, argument) and argument.has_default)
            for argument in _inputs(function)
        )
        or (len(_inputs(function)) == 1 and _is_body(database, _inputs(function)[0]))
        or takes_row(database, function)
    ]


def _is_body(database: TypegenDatabase, argument: TypegenArgument) -> bool:
    kind = database.types.get(argument.type)
    return kind is not None and (kind.schema, kind.name) in _BODIES
