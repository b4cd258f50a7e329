"""Step three: the one statement that answers a request. Pure.

It gives one row: total, number of rows, what functions set for the response, and the body (`OutputColumn` names the columns).
Source: docs/reference/rest.md, sections 3 and 24.
"""

from workers.database.schema_cache.catalog import Returns
from workers.rest.model import (
    ALL_ROWS,
    BodyShape,
    CallPlan,
    MediaOutput,
    OutputColumn,
    ReadPlan,
    RelationRead,
    RelationWrite,
    RestPlan,
    RestStatement,
    WriteColumn,
    WritePlan,
)
from workers.rest.plan.plan import SOURCE
from workers.rest.query.body import body_sql, counts_others, is_handled_value
from workers.rest.query.call import call_sql
from workers.rest.query.columns import (
    AS,
    HEADERS,
    NAME,
    NO_COUNT,
    ONE,
    STATUS,
    TRANSACTION_ID_VALUE,
    T,
)
from workers.rest.query.guard import guard_sql
from workers.rest.query.nested import counted_sql, made_sql, nested_sql
from workers.rest.query.paging import page_columns
from workers.rest.query.plain import plain_statement
from workers.rest.query.read import count_sql, page_sql, range_sql, read_sql
from workers.rest.query.write import (
    inserted_sql,
    repeated_keys_sql,
    returning_sql,
    write_sql,
)
from workers.sql.compose import EMPTY, Sql, concat, constant, ident, join, raw, render

_COUNT = raw("pg_catalog.count(*)")


def query_for(plan: RestPlan) -> RestStatement:
    """Render the statement of a plan, and the EXPLAINs that estimate its total where that is wanted."""
    if (plain := plain_statement(plan)) is not None:
        return plain
    columns = answer_columns(plan)
    rows, source = rows_and_source(plan)
    if counts_others(plan):
        rows = concat(_FIRST_OF, rows, raw(") as "), T)
    select_list = join(
        ", ", [_CONSTANT.get((name, id(value))) or concat(value, AS[name]) for name, value in columns]
    )
    statement = concat(source, raw("select "), select_list, raw(" from "), rows)
    if plan.output.explain is not None:
        statement = concat(_explain(plan.output), statement)
    text, params = render(statement)
    before = _inserts_before(plan) if isinstance(plan, WritePlan) and plan.nested else ()
    guard = None
    if plan.output.explain is not None:
        guard = RestStatement(*render(concat(raw("select "), _guard(plan))))
    return RestStatement(text, params, tuple(map(NAME, columns)), before, estimates(plan), guard)


def _inserts_before(plan: WritePlan) -> tuple[RestStatement, ...]:
    """Return the statements of a nested insert that run before the one that answers."""
    fills_defaults = plan.request.preferences.missing == "default"
    return tuple(
        RestStatement(*render(nested_sql(item, number, fills_defaults=fills_defaults)))
        for number, item in enumerate(plan.nested)
    )


_FIRST_OF = raw(
    "(select case when pg_catalog.row_number() over () = 1 then pg_catalog.row_to_json(hw_t.*) end as hw_one from "
)


def estimates(plan: RestPlan) -> tuple[RestStatement, ...]:
    """Return the statements that ask the planner for a count: for the request, and for the relation without conditions."""
    if not plan.counts_by_plan or plan.output.explain is not None:
        return ()
    bare = RelationRead(plan.read.source, plan.read.alias, ())
    return tuple(
        RestStatement(*render(concat(raw("explain (format json) "), count_sql(read))))
        for read in (plan.read, bare)
    )


def _guard(plan: RestPlan) -> Sql:
    named = [] if plan.relation is None else [(plan.relation.schema, plan.relation.name)]
    return guard_sql(plan.read, *named)


def _explain(output: MediaOutput) -> Sql:
    assert output.explain is not None  # the caller looked
    words = [raw("format json") if output.explain.format == "json" else raw("format text")]
    options = {
        "analyze": raw("analyze"),
        "verbose": raw("verbose"),
        "settings": raw("settings"),
        "buffers": raw("buffers"),
        "wal": raw("wal"),
    }
    words += [options[option] for option in output.explain.options]
    return concat(raw("explain ("), join(", ", words), raw(") "))


def rows_and_source(plan: RestPlan) -> tuple[Sql, Sql]:
    """Return what stands behind FROM, and the WITH clause before the statement."""
    match plan:
        case ReadPlan():
            return _from(plan, EMPTY)
        case WritePlan():
            changed = _nested_rows(plan) if plan.nested else write_sql(plan.write)
            source = concat(raw("with "), ident(SOURCE), raw(" as ("), changed, raw(") "))
            if not plan.returns_rows:
                return concat(ident(SOURCE), raw(" as "), T), source
            return _from(plan, source)
        case CallPlan():
            barrier = raw(" offset 0") if is_handled_value(plan) else EMPTY
            called = concat(call_sql(plan.call), barrier)
            source = concat(raw("with "), ident(SOURCE), raw(" as ("), called, raw(") "))
            if plan.call.function.returns is not Returns.COMPOSITE:
                named = concat(ident(SOURCE), raw(" as "), ident(plan.read.alias))
                rows = concat(raw("(select * from "), named, range_sql(plan.read.range), raw(") as "), T)
                return rows, source
            return _from(plan, source)


def _nested_rows(plan: WritePlan) -> Sql:
    """Return the rows that a nested insert inserted into the relation of the request."""
    insert = plan.nested[plan.root]
    if not plan.write.returning:
        return counted_sql(insert)
    columns = insert.relation.columns
    key = tuple(WriteColumn(name, columns[name].full_type) for name in insert.relation.primary_key)
    return made_sql(insert, plan.root, key, returning_sql(plan.write))


def _from(plan: RestPlan, source: Sql) -> tuple[Sql, Sql]:
    """Return the rows to show as `hw_t`; CSV looks at them twice, so there they have a name."""
    if plan.read.is_paged:
        return concat(raw("("), page_sql(plan.read), raw(") as "), T), source
    rows = read_sql(plan.read, as_jsonb=plan.output.shape in (BodyShape.CSV, BodyShape.HANDLER))
    if plan.output.shape is not BodyShape.CSV:
        return concat(raw("("), rows, raw(") as hw_t")), source
    named = concat(raw("hw_page as ("), rows, raw(") "))
    return concat(raw("hw_page as "), T), concat(raw("with ") if not source else source + raw(", "), named)


def answer_columns(plan: RestPlan) -> list[tuple[OutputColumn, Sql]]:
    """Return the columns of the row: the body is the last one, so that all others are known while it arrives."""
    count, body, edges = ONE if is_handled_value(plan) else _COUNT, body_sql(plan), None
    if plan.read.is_paged:
        count, body, edges = page_columns(plan.read, strips_nulls=plan.output.strips_nulls)
    columns = [
        (OutputColumn.TOTAL, _total(plan)),
        (OutputColumn.PAGE_TOTAL, count),
        (OutputColumn.HEADERS, HEADERS),
        (OutputColumn.STATUS, STATUS),
    ]
    if isinstance(plan, WritePlan):
        if plan.write.location:
            columns.append((OutputColumn.LOCATION, _location(plan.write)))
        if plan.write.resolution == "merge-duplicates":
            columns.append((OutputColumn.INSERTED, inserted_sql(plan.write)))
        if plan.write.may_repeat_keys and plan.output.explain is None:
            columns.append((OutputColumn.REPEATED_KEYS, repeated_keys_sql(plan.write)))
    if edges is not None:
        columns.append((OutputColumn.EDGES, edges))
    if plan.may_write and plan.output.explain is None:
        columns.append((OutputColumn.TRANSACTION_ID, TRANSACTION_ID_VALUE))
    if plan.counts_by_plan and plan.output.explain is None:
        columns.append((OutputColumn.GUARDED, _guard(plan)))
    # An execution plan lists them, and its readers look for the body where it has always been.
    columns.insert(len(columns) if plan.output.explain is None else 2, (OutputColumn.BODY, body))
    return columns


_CONSTANT = {
    (name, id(value)): constant(concat(value, AS[name]))
    for name, value in (
        (OutputColumn.TOTAL, NO_COUNT),
        (OutputColumn.PAGE_TOTAL, _COUNT),
        (OutputColumn.HEADERS, HEADERS),
        (OutputColumn.STATUS, STATUS),
        (OutputColumn.TRANSACTION_ID, TRANSACTION_ID_VALUE),
    )
}
"""The columns that most answers have, with their names; found by the identity of a fragment."""


def _total(plan: RestPlan) -> Sql:
    """Count the whole set, where a count is wanted and the page alone does not tell."""
    if isinstance(plan, WritePlan):
        return NO_COUNT
    if plan.counts_exactly:
        return _counted(plan, plan.count_limit)
    if plan.counts_by_plan and plan.output.explain is None:
        counted = _counted(plan, plan.guarded_limit)
        return concat(raw("case when "), _guard(plan), raw(" then "), counted, raw(" end"))
    return NO_COUNT


def _counted(plan: RestPlan, most: int | None) -> Sql:
    """Count the rows, up to a number of them and one more."""
    if plan.read.range == ALL_ROWS:
        return ONE if is_handled_value(plan) else _COUNT
    if isinstance(plan, CallPlan) and plan.call.function.returns is not Returns.COMPOSITE:
        return concat(raw("(select pg_catalog.count(*) from "), ident(SOURCE), raw(")"))
    limit = None if most is None else most + 1
    return concat(
        raw("(select pg_catalog.count(*) from ("), count_sql(plan.read, limit), raw(") as hw_counted)")
    )


def _location(write: RelationWrite) -> Sql:
    """Return the key of the first row as texts; it is used when there is exactly one row."""
    keys = [
        concat(raw("pg_catalog.to_jsonb(hw_key."), ident(name), raw(") #>> '{}'")) for name in write.location
    ]
    listed = concat(raw("pg_catalog.json_build_array("), join(", ", keys), raw(")"))
    return concat(raw("(select "), listed, raw(" from "), ident(SOURCE), raw(" as hw_key limit 1)"))
