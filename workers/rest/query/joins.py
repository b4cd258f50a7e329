"""How rows of one relation are tied to those of another. Pure. Source: docs/reference/rest.md, sections 9 and 22."""

from msgspec import Struct

from workers.database.schema_cache.catalog import ComputedRelationship, Relationship
from workers.sql.compose import Sql, concat, ident, qualified, raw


class RowReference(Struct, frozen=True):
    """Where fields are found in a statement: the qualifier of their columns, and the whole row as a value."""

    qualifier: Sql
    row: Sql


def row_reference(name: Sql) -> RowReference:
    """Return the reference to a relation under a name. `name.*` is its row even where a column has the same name."""
    return RowReference(name, concat(name, raw(".*")))


def join_related(
    relationship: Relationship | ComputedRelationship,
    source: Sql,
    alias: str,
    place: RowReference,
    parent: RowReference,
) -> tuple[Sql, tuple[Sql, ...]]:
    """Return what related rows are read from, and the conditions that tie them to the parent.

    `source` is the related relation under the name of `place`; `alias` makes the name of a junction.
    """
    if isinstance(relationship, ComputedRelationship):
        called = concat(
            qualified(*relationship.function), raw("("), parent.row, raw(") as "), place.qualifier
        )
        return called, ()
    if relationship.junction is None:
        return source, tuple(
            [
                concat(
                    place.qualifier,
                    raw("."),
                    ident(theirs),
                    raw(" = "),
                    parent.qualifier,
                    raw("."),
                    ident(parent_column),
                )
                for parent_column, theirs in relationship.columns
            ]
        )
    return _through_junction(relationship, source, alias, place, parent)


def _through_junction(
    relationship: Relationship, source: Sql, alias: str, place: RowReference, parent: RowReference
) -> tuple[Sql, tuple[Sql, ...]]:
    junction = relationship.junction
    assert junction is not None  # the caller looked
    middle = ident(f"{alias}_j")
    ties = [
        concat(middle, raw("."), ident(via), raw(" = "), parent.qualifier, raw("."), ident(parent_column))
        for parent_column, via in junction.columns1
    ] + [
        concat(middle, raw("."), ident(via), raw(" = "), place.qualifier, raw("."), ident(theirs))
        for theirs, via in junction.columns2
    ]
    source = concat(
        source, raw(" inner join "), qualified(*junction.relation), raw(" as "), middle, raw(" on true")
    )
    return source, tuple(ties)
