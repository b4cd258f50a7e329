"""The parts of a schema that generated types show, in order, whatever the language (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass

from workers.project.types.model import Argument, Column, Database, Function, Link, Relation, Type

TABLES = ("r", "p", "f")
VIEWS = ("v", "m")
COMPOSITE = "c"
_INPUT = ("i", "b", "v")


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
    return [_schema(database, name) for name in sorted(database.schemas)]


def columns_of(relation: Relation) -> list[Column]:
    """Give the columns of a relation by name."""
    return sorted(relation.columns, key=lambda column: column.name)


def links_of(database: Database, relation: Relation) -> list[Link]:
    """Give the foreign keys of a relation, in the order of their names."""
    mine = (
        link for link in database.links if (link.schema, link.relation) == (relation.schema, relation.name)
    )
    return sorted(mine, key=lambda link: (link.name, link.referenced, link.referenced_columns))


def inputs_of(function: Function) -> list[Argument]:
    """Give the arguments a client passes, by name."""
    return sorted((each for each in function.arguments if each.mode in _INPUT), key=lambda each: each.name)


def outputs_of(function: Function) -> list[Argument]:
    """Give the columns of a result that the function's arguments name, by name."""
    return sorted(
        (each for each in function.arguments if each.mode in ("o", "b", "t")), key=lambda each: each.name
    )


def computed_of(database: Database, relation: Relation) -> list[Function]:
    """Give the functions of the one argument of a relation's row type that clients read as columns."""
    found = [
        function
        for function in database.functions
        if function.schema == relation.schema and not function.returns_set and len(function.arguments) == 1
        and (row := database.types.get(function.arguments[0].type)) is not None
        and row.relation_kind in (*TABLES, *VIEWS) and (row.schema, row.name) == (relation.schema, relation.name)
    ]  # fmt: skip
    return sorted(found, key=lambda function: function.name)


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
    mine = sorted((each for each in database.relations if each.schema == name), key=lambda each: each.name)
    functions: dict[str, list[Function]] = {}
    for function in sorted(_callable(database.functions), key=lambda each: (each.name, _signature(each))):
        if function.schema == name:
            functions.setdefault(function.name, []).append(function)
    enums = sorted(
        (kind for kind in database.types.values() if kind.schema == name and kind.kind == "e"),
        key=lambda kind: kind.name,
    )
    return Schema(
        name,
        [each for each in mine if each.kind in TABLES],
        [each for each in mine if each.kind in VIEWS],
        functions,
        enums,
        [each for each in mine if each.kind == COMPOSITE],
    )


def _callable(functions: Iterable[Function]) -> list[Function]:
    """Keep those that can be called by name: all arguments named, or a single one that is not."""
    return [
        each for each in functions if len(inputs_of(each)) == 1 or all(arg.name for arg in inputs_of(each))
    ]


def _signature(function: Function) -> list[tuple[str, int]]:
    return [(each.name, each.type) for each in inputs_of(function)]
