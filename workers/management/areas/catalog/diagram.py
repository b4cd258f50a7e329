"""Tables, columns and foreign keys of a schema, as a diagram needs them. Pure."""

from msgspec import Struct

from workers.management.areas.catalog.model import ForeignKeyTarget, RelationInfo


class DiagramColumn(Struct, frozen=True):
    """A column of a diagram. `is_key`: a primary or unique key of this column alone, which a foreign key can refer to."""

    name: str
    type: str
    is_primary: bool
    is_key: bool
    is_nullable: bool


class DiagramTable(Struct, frozen=True):
    """A table or view of a diagram."""

    name: str
    kind: str
    columns: list[DiagramColumn]


class DiagramKey(Struct, frozen=True):
    """A foreign key of a diagram, from a table of the schema to any table."""

    name: str
    table: str
    columns: list[str]
    target: ForeignKeyTarget


class Diagram(Struct, frozen=True):
    """The tables of a schema and how they refer to one another."""

    schema: str
    tables: list[DiagramTable]
    foreign_keys: list[DiagramKey]


def diagram_of(schema: str, relations: list[RelationInfo]) -> Diagram:
    """Return the diagram of the relations of a schema."""
    keys = [
        DiagramKey(constraint.name, relation.name, constraint.columns, constraint.target)
        for relation in relations
        for constraint in relation.constraints
        if constraint.target is not None
    ]
    return Diagram(schema, [_table(relation) for relation in relations], keys)


def _table(relation: RelationInfo) -> DiagramTable:
    primary = {name for item in relation.constraints if item.kind == "primary key" for name in item.columns}
    keys = {
        item.columns[0]
        for item in relation.constraints
        if item.kind in ("primary key", "unique") and len(item.columns) == 1
    }
    columns = [
        DiagramColumn(
            column.name, column.type, column.name in primary, column.name in keys, column.is_nullable
        )
        for column in relation.columns
    ]
    return DiagramTable(relation.name, relation.kind, columns)
