"""Fields that lead over foreign keys, both ways. Pure. Source: reference page "graphql", sections 4, 5 and 13."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workers.graphql.model import Relation
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import ConstraintDirective, read_constraint, read_table
from workers.graphql.reflect.entities import Found, View
from workers.graphql.reflect.rows import ForeignKeyRow


@dataclass(frozen=True, slots=True)
class _Key:
    """A foreign key between two entities, of a constraint or a directive."""

    local: Found
    columns: tuple[str, ...]
    target: Found
    target_columns: tuple[str, ...]
    given: ConstraintDirective
    is_certain: bool
    """Each row here has a row there: a constraint says so, over a column that is never null."""


def find_relations(view: View, entities: dict[int, Found]) -> dict[int, dict[str, Relation]]:
    """Give the relations of each entity by name, outgoing before incoming; of two with one name the later."""
    keys = [*_constraints(view, entities), *_directives(entities)]
    relations: dict[int, dict[str, Relation]] = {}
    for key in keys:
        _add(relations, key.local, _outgoing(view, key))
    for key in keys:
        _add(relations, key.target, _incoming(view, key))
    return relations


def _add(relations: dict[int, dict[str, Relation]], owner: Found, relation: Relation) -> None:
    if names.is_valid(relation.name):
        relations.setdefault(owner.row.oid, {})[relation.name] = relation


def _constraints(view: View, entities: dict[int, Found]) -> Iterator[_Key]:
    for row in view.snapshot.foreign_keys:
        local, target = entities.get(row.relation), entities.get(row.target)
        columns = view.snapshot.column_names(row.relation, row.columns)
        target_columns = view.snapshot.column_names(row.target, row.target_columns)
        if local is None or target is None or columns is None or target_columns is None:
            continue
        if _is_visible(local, columns) and _is_visible(target, target_columns):
            given = read_constraint(row.comment)
            yield _Key(local, columns, target, target_columns, given, _is_certain(view, row))


def _directives(entities: dict[int, Found]) -> Iterator[_Key]:
    """Give the keys that comments of tables and views declare; those with an unknown table or column are left out."""
    by_name = {found.entity.sql: found for found in entities.values()}
    for local in entities.values():
        for given in read_table(local.row.comment).foreign_keys:
            target = by_name.get((given.foreign_schema, given.foreign_table))
            pairs = (given.local_columns, given.foreign_columns)
            if target is None or not pairs[0] or len(pairs[0]) != len(pairs[1]):
                continue
            if _is_visible(local, pairs[0]) and _is_visible(target, pairs[1]):
                named = ConstraintDirective(given.local_name, given.foreign_name)
                yield _Key(local, pairs[0], target, pairs[1], named, is_certain=False)


def _is_visible(found: Found, columns: Iterable[str]) -> bool:
    return all(found.is_selectable(column) for column in columns)


def _is_certain(view: View, row: ForeignKeyRow) -> bool:
    columns = view.snapshot.columns.get(row.relation, ())
    return any(column.is_not_null for column in columns if column.number in row.columns)


def _outgoing(view: View, key: _Key) -> Relation:
    """Give the field of the row that holds the key."""
    by_column = names.relation_name(key.columns, inflect=view.inflects(key.local.row.schema))
    return Relation(
        name=key.given.foreign_name or by_column or names.lower_first(key.target.entity.name),
        target=key.target.entity.sql,
        columns=tuple(zip(key.columns, key.target_columns, strict=True)),
        is_many=False,
        is_nullable=not key.is_certain or key.target.row.row_security,
    )


def _incoming(view: View, key: _Key) -> Relation:
    """Give the field of the row that is referenced: a connection, or one row where the key is unique."""
    own_name = names.lower_first(key.local.entity.name)
    is_many = not _is_unique(view, key)
    if is_many:
        name = f"{own_name}Collection"
    else:
        by_column = names.relation_name(key.target_columns, inflect=view.inflects(key.target.row.schema))
        name = by_column or own_name
    return Relation(
        name=key.given.local_name or name,
        target=key.local.entity.sql,
        columns=tuple(zip(key.target_columns, key.columns, strict=True)),
        is_many=is_many,
        is_outgoing=False,
    )


def _is_unique(view: View, key: _Key) -> bool:
    """Tell whether a unique index lies wholly within the key's columns, so that a row is referenced at most once."""
    oid = key.local.row.oid
    for each in view.snapshot.keys.get(oid, ()):
        columns = view.snapshot.column_names(oid, each.columns) if each.kind == "i" else None
        if columns and set(columns) <= set(key.columns):
            return True
    return False
