"""Whether rows may be hidden from the caller behind the planner's figures. Pure.

The planner estimates with statistics of the whole table, so `secret=eq.x` with `count=planned` would tell which values are
frequent in rows that a policy hides. The same is true of a view, which may leave out rows itself, and of a function whose body
the planner puts in its place. For callers that bypass row security nothing is hidden.

Only the database knows whom row security applies to (owners, `bypassrls`, `force row level security`), so this is an
expression that is evaluated in the caller's role, beside the statement it is about.
"""

from collections.abc import Iterable, Iterator

from workers.database.catalog import ComputedRelationship, Relationship
from workers.rest.model import PlannedCondition, PlannedFilter, PlannedLogic, PlannedRelated, Read
from workers.sql.compose import Sql, concat, join, literal, quoted, raw

Name = tuple[str, str]

_BYPASSES = raw(
    "(select hw_role.rolsuper or hw_role.rolbypassrls from pg_catalog.pg_roles as hw_role"
    " where hw_role.rolname operator(pg_catalog.=) current_user)"
)


def guard_sql(read: Read, *further: Name) -> Sql:
    """Return an expression that is true if rows of a read, or of further relations, may be hidden from the caller."""
    names = dict.fromkeys((*further, *_relations(read)))
    parts = [_hides(names)] if names else []
    if _calls(read):
        parts.append(concat(raw("not "), _BYPASSES))
    return concat(raw("("), join(" or ", parts or [raw("false")]), raw(")"))


def _hides(names: Iterable[Name]) -> Sql:
    oids = [
        concat(literal(f"{quoted(schema)}.{quoted(name)}"), raw("::pg_catalog.regclass"))
        for schema, name in names
    ]
    return concat(
        raw("(select pg_catalog.bool_or(case when hw_class.relkind operator(pg_catalog.=) 'v' then not "),
        _BYPASSES,
        raw(" else pg_catalog.row_security_active(hw_class.oid) end) from pg_catalog.pg_class as hw_class"),
        raw(" where hw_class.oid operator(pg_catalog.=) any (array["),
        join(", ", oids),
        raw("]::pg_catalog.oid[]))"),
    )


def _relations(read: Read) -> Iterator[Name]:
    if read.source[0]:
        yield read.source
    yield from _of_conditions((*read.where, *read.having))
    for embed in read.embeds:
        if isinstance(embed.relationship, Relationship):
            yield from _tied(embed.relationship)
            yield from _relations(embed.read)
        else:
            yield from _of_conditions((*embed.read.where, *embed.read.having))


def _of_conditions(conditions: Iterable[PlannedCondition]) -> Iterator[Name]:
    for condition in conditions:
        match condition:
            case PlannedLogic(branches=branches):
                yield from _of_conditions(branches)
            case PlannedRelated(relationship=Relationship() as tie, source=source, where=where):
                yield source
                yield from _tied(tie)
                yield from _of_conditions(where)


def _tied(relationship: Relationship) -> Iterator[Name]:
    if relationship.junction is not None:
        yield relationship.junction.relation


def _calls(read: Read) -> bool:
    """Return whether functions take part: computed relationships, and computed fields in conditions."""
    return (
        any(_calls_in(condition) for condition in (*read.where, *read.having))
        or any(isinstance(embed.relationship, ComputedRelationship) for embed in read.embeds)
        or any(_calls(embed.read) for embed in read.embeds)
    )


def _calls_in(condition: PlannedCondition) -> bool:
    match condition:
        case PlannedFilter(field=field):
            return field.function is not None
        case PlannedLogic(branches=branches):
            return any(map(_calls_in, branches))
        case PlannedRelated(relationship=relationship, where=where):
            return isinstance(relationship, ComputedRelationship) or any(map(_calls_in, where))
    return False
