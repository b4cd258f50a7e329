"""The parts of a schema that generated types show, in order, whatever the language (pure)."""

from dataclasses import dataclass

from workers.project.types.model import Argument, Column, Database, Function, Link, Relation, Type
from workers.project.types.order import by_name, named

TABLES = ("r", "p", "f")
VIEWS = ("v", "m")
COMPOSITE = "c"
_INPUT = ("i", "b", "v")
_BODIES = frozenset({("pg_catalog", "json"), ("pg_catalog", "jsonb"), ("pg_catalog", "text")})
"""Types of an argument without a name that takes a whole body."""


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema; everything by name."""

    name: str
    tables: list[Relation]
    views: list[Relation]
    functions: dict[str, list[Function]]
    enums: list[Type]
    composites: list[Relation]


def schemas_of(database: Database) -> list[Schema]:
    """Give the schemas by name."""
    return [_schema(database, name) for name in sorted(database.schemas, key=by_name)]


def columns_of(relation: Relation) -> list[Column]:
    """Give the columns of a relation by name."""
    return sorted(relation.columns, key=named)


def links_of(database: Database, relation: Relation) -> list[Link]:
    """Give the foreign keys of a relation, in the order of their names."""
    mine = (
        link for link in database.links if (link.schema, link.relation) == (relation.schema, relation.name)
    )
    return sorted(
        mine, key=lambda link: (by_name(link.name), by_name(link.referenced), link.referenced_columns)
    )


def inputs_of(function: Function) -> list[Argument]:
    """Give the arguments a client passes, by name."""
    return sorted((each for each in function.arguments if each.mode in _INPUT), key=named)


def outputs_of(function: Function) -> list[Argument]:
    """Give the columns of a result that the function's arguments name, by name."""
    return sorted((each for each in function.arguments if each.mode in ("o", "b", "t")), key=named)


def computed_of(database: Database, relation: Relation) -> list[Function]:
    """Give the functions of the one argument of a relation's row type that clients read as columns."""
    found = [
        function
        for function in database.functions
        if function.schema == relation.schema and len(given := inputs_of(function)) == 1
        and (row := database.types.get(given[0].type)) is not None
        and row.relation_kind in (*TABLES, *VIEWS) and (row.schema, row.name) == (relation.schema, relation.name)
    ]  # fmt: skip
    return sorted(found, key=named)


def plain(database: Database, id: int) -> Type | None:
    """Give a type, followed through domains."""
    kind = database.types.get(id)
    return database.types.get(kind.base) if kind and kind.base else kind


def relation_of(database: Database, kind: Type | None) -> Relation | None:
    """Give the table or view whose rows a type is, if it is one of these schemas."""
    if kind is None or kind.relation_kind not in (*TABLES, *VIEWS):
        return None
    rows = (each for each in database.relations if (each.schema, each.name) == (kind.schema, kind.name))
    return next(rows, None)


def _schema(database: Database, name: str) -> Schema:
    mine = sorted((each for each in database.relations if each.schema == name), key=named)
    functions: dict[str, list[Function]] = {}
    for function in sorted(_callable(database), key=lambda each: (named(each), by_name(each.signature))):
        if function.schema == name:
            functions.setdefault(function.name, []).append(function)
    enums = sorted(
        (kind for kind in database.types.values() if kind.schema == name and kind.kind == "e"), key=named
    )
    return Schema(
        name,
        [each for each in mine if each.kind in TABLES],
        [each for each in mine if each.kind in VIEWS],
        functions,
        enums,
        [each for each in mine if each.kind == COMPOSITE],
    )


def takes_row(database: Database, function: Function) -> bool:
    """Tell whether the only argument of a function is a row and has no name: it is read as a column, or embedded."""
    inputs = inputs_of(function)
    kind = database.types.get(inputs[0].type) if len(inputs) == 1 and not inputs[0].name else None
    return kind is not None and bool(kind.relation_kind)


def _callable(database: Database) -> list[Function]:
    """Keep those that clients can reach: all arguments named, or the one body of a request, or the row of a relation."""
    return [
        each
        for each in database.functions
        if all(given.name or (_is_body(database, given) and given.has_default) for given in inputs_of(each))
        or (len(inputs_of(each)) == 1 and _is_body(database, inputs_of(each)[0]))
        or takes_row(database, each)
    ]


def _is_body(database: Database, given: Argument) -> bool:
    kind = database.types.get(given.type)
    return kind is not None and (kind.schema, kind.name) in _BODIES
