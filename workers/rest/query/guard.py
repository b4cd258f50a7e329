"""Whether rows may be hidden from the caller behind the planner's figures. Pure.

The planner estimates with statistics of the whole table, so `secret=eq.x` with `count=planned` would tell which values are
frequent in rows that a policy hides. A view may leave out rows itself, so it counts as hiding them unless its caller may read
everything behind it: no row security there, and the right to select. A function may hide rows where the planner puts its body
in its place (set-returning, in SQL, not volatile, with the rights of its caller). For callers that bypass row security nothing
is hidden.

Only the database knows whom row security applies to (owners, `bypassrls`, `force row level security`), so this is an
expression that is evaluated in the caller's role, beside the statement it is about.
"""

from collections.abc import Iterable, Iterator

from workers.database.schema_cache.catalog import ComputedRelationship, Relationship
from workers.rest.model import (
    PlannedCondition,
    PlannedField,
    PlannedFilter,
    PlannedLogic,
    PlannedRelated,
    RelationRead,
)
from workers.sql.compose import Sql, concat, join, literal, quoted, raw

Name = tuple[str, str]

_BYPASSES = raw(
    "(select hw_role.rolsuper or hw_role.rolbypassrls from pg_catalog.pg_roles as hw_role"
    " where hw_role.rolname operator(pg_catalog.=) current_user)"
)
_BEHIND = raw(
    "]::pg_catalog.oid[]) as hw_named(oid) union"
    " select hw_on.refobjid, true from hw_behind as hw_view"
    " join pg_catalog.pg_class as hw_kind on hw_kind.oid operator(pg_catalog.=) hw_view.oid"
    " and hw_kind.relkind operator(pg_catalog.=) 'v'"
    " join pg_catalog.pg_rewrite as hw_rule on hw_rule.ev_class operator(pg_catalog.=) hw_view.oid"
    " join pg_catalog.pg_depend as hw_on on hw_on.objid operator(pg_catalog.=) hw_rule.oid"
    " and hw_on.classid operator(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
    " and hw_on.refclassid operator(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
    " and hw_on.refobjid operator(pg_catalog.<>) hw_view.oid)"
)
"""The rest of a recursive query for relations and, of views, those behind them."""
_INLINED = raw(
    "exists (select from pg_catalog.pg_rewrite as hw_rule"
    " join pg_catalog.pg_depend as hw_on on hw_on.objid operator(pg_catalog.=) hw_rule.oid"
    " and hw_on.classid operator(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
    " and hw_on.refclassid operator(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass"
    " join pg_catalog.pg_proc as hw_proc on hw_proc.oid operator(pg_catalog.=) hw_on.refobjid"
    " join pg_catalog.pg_language as hw_lang on hw_lang.oid operator(pg_catalog.=) hw_proc.prolang"
    " where hw_rule.ev_class operator(pg_catalog.=) hw_class.oid and hw_proc.proretset and not hw_proc.prosecdef"
    " and hw_proc.provolatile operator(pg_catalog.<>) 'v' and hw_lang.lanname operator(pg_catalog.=) 'sql')"
)
"""A view reads from a function whose body the planner may put in its place."""


def guard_sql(read: RelationRead, *further: Name) -> Sql:
    """Return an expression that is true if rows of a read, or of further relations, may be hidden from the caller."""
    names = dict.fromkeys((*further, *_relations(read)))
    if _calls(read):
        return concat(raw("(not "), _BYPASSES, raw(")"))
    if not names:
        return raw("false")
    oids = [
        concat(literal(f"{quoted(schema)}.{quoted(name)}"), raw("::pg_catalog.regclass"))
        for schema, name in names
    ]
    return concat(
        raw("(not "),
        _BYPASSES,
        raw(" and (with recursive hw_behind(oid, is_behind) as (select hw_named.oid, false"),
        raw(" from pg_catalog.unnest(array["),
        join(", ", oids),
        _BEHIND,
        raw(" select pg_catalog.bool_or(case when hw_class.relkind operator(pg_catalog.=) 'v' then "),
        _INLINED,
        raw(" else pg_catalog.row_security_active(hw_class.oid) or (hw_behind.is_behind and not"),
        raw(" pg_catalog.has_table_privilege(hw_class.oid, 'SELECT')) end)"),
        raw(" from hw_behind join pg_catalog.pg_class as hw_class"),
        raw(" on hw_class.oid operator(pg_catalog.=) hw_behind.oid))"),
    )


def _relations(read: RelationRead) -> Iterator[Name]:
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


def _calls(read: RelationRead) -> bool:
    """Return whether functions take part: computed relationships, and computed fields in conditions."""
    return (
        any(_calls_in(condition) for condition in (*read.where, *read.having))
        or any(isinstance(embed.relationship, ComputedRelationship) for embed in read.embeds)
        or any(_calls(embed.read) for embed in read.embeds)
    )


def _calls_in(condition: PlannedCondition) -> bool:
    match condition:
        case PlannedFilter(field=field, operand=operand):
            compared = operand.function if isinstance(operand, PlannedField) else None
            return field.function is not None or compared is not None
        case PlannedLogic(branches=branches):
            return any(map(_calls_in, branches))
        case PlannedRelated(relationship=relationship, where=where):
            return isinstance(relationship, ComputedRelationship) or any(map(_calls_in, where))
    return False
