"""Statements for answers that need no `with` and no aggregate: most writes without a representation, functions with one value. Pure.

The row is the one of `query.py`, made by `returning`, by a second statement, or beside the function.
"""

from msgspec.structs import replace

from workers.database.schema_cache.catalog import Returns
from workers.rest.model import (
    ALL_ROWS,
    BodyShape,
    CallPlan,
    OutputColumn,
    RelationWrite,
    RequestAction,
    RestPlan,
    RestStatement,
    WritePlan,
)
from workers.rest.query.call import call_sql
from workers.rest.query.columns import (
    AS,
    HEADERS,
    NAME,
    NO_COUNT,
    ONE,
    SCALAR_VALUE,
    STATUS,
    TRANSACTION_ID_VALUE,
    T,
)
from workers.rest.query.write import insert_sql, inserted_sql
from workers.sql.compose import concat, join, raw, render


def plain_statement(plan: RestPlan) -> RestStatement | None:
    """Return the statement of such an answer; None for all others."""
    if isinstance(plan, CallPlan):
        return _plain_call(plan) if _is_plain_call(plan) else None
    if not isinstance(plan, WritePlan):
        return None
    if _is_bare_insert(plan):
        return replace(_AFTER_INSERT, before=(RestStatement(*render(insert_sql(plan.write))),))
    if _is_plain_insert(plan):
        text, params = render(concat(insert_sql(plan.write), _RETURNING_ONE))
        return RestStatement(text, params, tuple(_AFTER_INSERT_COLUMNS))
    return _plain_upsert(plan.write) if _is_plain_upsert(plan) else None


def _is_bare_insert(plan: WritePlan) -> bool:
    """Return whether many rows are inserted and the answer depends on none of them, nor on their number.

    Then the insert is a statement of its own: rows that return something are stored until they are counted (1,000 rows: 0.4 of
    4.2 ms in Postgres).
    """
    write = plan.write
    return (
        write.action is RequestAction.CREATE
        and write.is_array
        and write.resolution != "merge-duplicates"
        and not (write.returning or write.location or plan.nested or plan.returns_rows or plan.counts_exactly)
        and plan.output.explain is None
        and not plan.output.is_singular
        and plan.max_affected is None
    )


def _is_plain_insert(plan: WritePlan) -> bool:
    """Return whether one row is inserted and the answer does not depend on it: then `returning` makes the row of the answer.

    A `with` around the insert costs Postgres a twelfth of the transaction. What triggers after the row set for the response is
    read in neither form: they run at the end of the statement.
    """
    return plan.write.resolution is None and _creates_one_unseen(plan)


def _is_plain_upsert(plan: WritePlan) -> bool:
    """Return whether one row is inserted or updated and the answer does not show it: the same for an upsert."""
    write = plan.write
    return (
        write.resolution == "merge-duplicates"
        and bool(write.columns)
        and write.relation.keeps_updates
        and _creates_one_unseen(plan)
    )


def _creates_one_unseen(plan: WritePlan) -> bool:
    write = plan.write
    return (
        write.action is RequestAction.CREATE
        and write.relation.keeps_inserts
        and not (write.is_array or write.returning or write.location or plan.nested or plan.returns_rows)
        and plan.output.explain is None
    )


def _plain_upsert(write: RelationWrite) -> RestStatement:
    """Return an upsert of one row whose `returning` makes the row of the answer."""
    columns = [*_RETURNED_ONE.items()]
    columns.insert(4, (OutputColumn.INSERTED, inserted_sql(write)))
    answer = join(", ", [concat(value, AS[name]) for name, value in columns])
    text, params = render(concat(insert_sql(write), raw(" returning "), answer))
    return RestStatement(text, params, tuple(map(NAME, columns)))


def _is_plain_call(plan: CallPlan) -> bool:
    """Return whether the answer is one value, made by `to_json`: aggregating one row costs Postgres a tenth of the statement.

    Types of a project may be domains of json, of which `json_agg` leaves out white space around the value.
    """
    function, output = plan.call.function, plan.output
    schema, name = function.return_type
    return (
        function.returns is Returns.SCALAR
        and not function.returns_set
        and schema == "pg_catalog"
        and name != "json"
        and plan.returns_rows
        and plan.read.range == ALL_ROWS
        and output.shape in (BodyShape.ARRAY, BodyShape.SINGLE)
        and not output.strips_nulls
        and output.explain is None
    )


def _plain_call(plan: CallPlan) -> RestStatement:
    """Return a call of a function with one value. `offset 0` lets it run before what it set for the response is read."""
    values = {
        OutputColumn.TOTAL: ONE if plan.counts_exactly else NO_COUNT,
        OutputColumn.PAGE_TOTAL: ONE,
        OutputColumn.HEADERS: HEADERS,
        OutputColumn.STATUS: STATUS,
        **({OutputColumn.TRANSACTION_ID: TRANSACTION_ID_VALUE} if plan.may_write else {}),
        OutputColumn.BODY: concat(raw("coalesce(pg_catalog.to_json("), SCALAR_VALUE, raw("), 'null')")),
    }
    answer = join(", ", [concat(value, AS[name]) for name, value in values.items()])
    text, params = render(
        concat(raw("select "), answer, raw(" from ("), call_sql(plan.call), raw(" offset 0) as "), T)
    )
    return RestStatement(text, params, tuple(values))


_AFTER_INSERT_COLUMNS = {
    OutputColumn.TOTAL: NO_COUNT,
    OutputColumn.PAGE_TOTAL: raw("0::bigint"),
    OutputColumn.HEADERS: HEADERS,
    OutputColumn.STATUS: STATUS,
    OutputColumn.TRANSACTION_ID: TRANSACTION_ID_VALUE,
    OutputColumn.BODY: raw("null::text"),
}
_AFTER_INSERT = RestStatement(
    *render(
        concat(
            raw("select "),
            join(", ", [concat(value, AS[name]) for name, value in _AFTER_INSERT_COLUMNS.items()]),
        )
    ),
    tuple(_AFTER_INSERT_COLUMNS),
)
"""What is asked after an insert whose rows the request does not ask for: what triggers set for the response."""
_RETURNED_ONE = {**_AFTER_INSERT_COLUMNS, OutputColumn.PAGE_TOTAL: ONE}
_RETURNING_ONE = concat(
    raw(" returning "), join(", ", [concat(value, AS[name]) for name, value in _RETURNED_ONE.items()])
)
