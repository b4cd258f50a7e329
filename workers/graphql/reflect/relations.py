"""Build relation fields from foreign keys, one for each direction. Pure. Source: docs/reference/graphql.md, sections 4, 5 and 13."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workers.graphql.model import RelationField
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import ConstraintDirective, read_constraint, read_table
from workers.graphql.reflect.entities import ReflectedEntity, RoleView
from workers.graphql.reflect.rows import ReflectedForeignKey


@dataclass(frozen=True, slots=True)
class _RelationKey:
    """A foreign key between two entities, from a constraint or a directive."""

    local: ReflectedEntity
    columns: tuple[str, ...]
    target: ReflectedEntity
    target_columns: tuple[str, ...]
    directive: ConstraintDirective
    always_has_target: bool
    """Every local row has a target row: the key is a constraint with a column that is not null."""


def find_relations(
    view: RoleView, entities: dict[int, ReflectedEntity]
) -> dict[int, dict[str, RelationField]]:
    """Return the relations of each entity by name, outgoing before incoming. Of two with one name, the later one."""
    keys = [*_constraint_keys(view, entities), *_directive_keys(entities)]
    relations: dict[int, dict[str, RelationField]] = {}
    for key in keys:
        _add(relations, key.local, _outgoing_relation(view, key))
    for key in keys:
        _add(relations, key.target, _incoming_relation(view, key))
    return relations


def _add(
    relations: dict[int, dict[str, RelationField]], owner: ReflectedEntity, relation: RelationField
) -> None:
    if names.is_valid(relation.name):
        relations.setdefault(owner.row.oid, {})[relation.name] = relation


def _constraint_keys(view: RoleView, entities: dict[int, ReflectedEntity]) -> Iterator[_RelationKey]:
    for row in view.snapshot.foreign_keys:
        local, target = entities.get(row.relation), entities.get(row.target)
        columns = view.snapshot.column_names(row.relation, row.columns)
        target_columns = view.snapshot.column_names(row.target, row.target_columns)
        if local is None or target is None or columns is None or target_columns is None:
            continue
        if _is_visible(local, columns) and _is_visible(target, target_columns):
            names_in_comment = read_constraint(row.comment)
            yield _RelationKey(
                local, columns, target, target_columns, names_in_comment, _always_has_target(view, row)
            )


def _directive_keys(entities: dict[int, ReflectedEntity]) -> Iterator[_RelationKey]:
    """Yield the keys declared in comments of tables and views, except those with an unknown table or column."""
    by_name = {entity.entity.sql: entity for entity in entities.values()}
    for local in entities.values():
        for foreign_key in read_table(local.row.comment).foreign_keys:
            target = by_name.get((foreign_key.foreign_schema, foreign_key.foreign_table))
            pairs = (foreign_key.local_columns, foreign_key.foreign_columns)
            if target is None or not pairs[0] or len(pairs[0]) != len(pairs[1]):
                continue
            if _is_visible(local, pairs[0]) and _is_visible(target, pairs[1]):
                field_names = ConstraintDirective(foreign_key.local_name, foreign_key.foreign_name)
                yield _RelationKey(local, pairs[0], target, pairs[1], field_names, always_has_target=False)


def _is_visible(entity: ReflectedEntity, columns: Iterable[str]) -> bool:
    return all(entity.is_selectable(column) for column in columns)


def _always_has_target(view: RoleView, row: ReflectedForeignKey) -> bool:
    columns = view.snapshot.columns.get(row.relation, ())
    return any(column.is_not_null for column in columns if column.number in row.columns)


def _outgoing_relation(view: RoleView, key: _RelationKey) -> RelationField:
    """Return the field of the row with the foreign key."""
    by_column = names.relation_name(key.columns, inflect=view.inflects(key.local.row.schema))
    return RelationField(
        name=key.directive.foreign_name or by_column or names.lower_first(key.target.entity.name),
        target=key.target.entity.sql,
        columns=tuple(zip(key.columns, key.target_columns, strict=True)),
        is_many=False,
        is_nullable=not key.always_has_target or key.target.row.row_security,
    )


def _incoming_relation(view: RoleView, key: _RelationKey) -> RelationField:
    """Return the field of the referenced row: a connection, or one row if the key is unique."""
    row_name = names.lower_first(key.local.entity.name)
    is_many = not _is_unique(view, key)
    if is_many:
        name = f"{row_name}Collection"
    else:
        by_column = names.relation_name(key.target_columns, inflect=view.inflects(key.target.row.schema))
        name = by_column or row_name
    return RelationField(
        name=key.directive.local_name or name,
        target=key.local.entity.sql,
        columns=tuple(zip(key.target_columns, key.columns, strict=True)),
        is_many=is_many,
        is_outgoing=False,
    )


def _is_unique(view: RoleView, key: _RelationKey) -> bool:
    """Return whether a unique index covers only columns of the key, so that each row is referenced at most once."""
    oid = key.local.row.oid
    for index in view.snapshot.keys.get(oid, ()):
        columns = view.snapshot.column_names(oid, index.columns) if index.kind == "i" else None
        if columns and set(columns) <= set(key.columns):
            return True
    return False
