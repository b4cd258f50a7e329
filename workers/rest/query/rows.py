"""The same answer as `query.py` renders, but with one row of the result for each row of the body.

`json_agg` holds the whole body in the server's memory, about four times. Here the server sends each row as soon as it is made,
and the worker joins them (`workers/database/protocol/row_body.py`):

    select <a row as it stands in the body>, null, null, ...  from <rows>
    union all
    select null, <total>, <response.headers>, <response.status>, ...

The second half is the trailer. `Append` runs its parts in order, so what functions set for the response is read behind
the last row, and both halves see one snapshot. The order of the rows is that of the subquery in the first half.
The bytes are those of `query.py`: `json_agg` puts `, \\n ` between rows, `json_strip_nulls` a comma. Entity tags of reads rely on
it (tests/workers/rest/test_row_answers.py). Only a set of arrays with a NULL among them differs: in white space.

Not made so, because the body is one value that the server makes at once: what gives at most one row, results of media type handlers,
execution plans, and scalars as CSV.
"""

from workers.database.schema_cache.catalog import Returns
from workers.database.transactions.model import TransactionEnd
from workers.rest.model import (
    ALL_ROWS,
    BodyShape,
    CallPlan,
    OutputColumn,
    RestPlan,
    RestStatement,
    RowFrame,
    WritePlan,
)
from workers.rest.query.columns import NO_COUNT, SCALAR_VALUE, T
from workers.rest.query.one_row import gives_one_row, is_scalar
from workers.rest.query.paging import page_rows
from workers.rest.query.query import answer_columns, estimates, rows_and_source
from workers.rest.query.read import page_sql
from workers.sql.compose import Sql, concat, ident, join, raw, render

_GEOJSON = b'{"type" : "FeatureCollection", "features" : ['
_BETWEEN_ROWS, _BETWEEN_VALUES = b", \n ", b", "
_HEADER = raw(
    "(select coalesce(pg_catalog.string_agg(hw_key, ','), '') from (select pg_catalog.json_object_keys(hw_row) as hw_key "
    "from (select pg_catalog.row_to_json(hw_page.*) as hw_row from hw_page limit 1) as hw_first) as hw_header)"
)


def rows_query_for(plan: RestPlan) -> RestStatement | None:
    """Render the statement that returns the body of a plan row by row; None if the body must be one value."""
    if not _has_rows(plan):
        return None
    columns = [
        pair for pair in answer_columns(plan) if pair[0] not in (OutputColumn.BODY, OutputColumn.PAGE_TOTAL)
    ]
    if plan.output.shape is BodyShape.CSV:
        columns.append((OutputColumn.PREFIX, _HEADER))
    counts_rows = _counts_rows(plan)
    if counts_rows:
        columns = [(name, NO_COUNT if name is OutputColumn.TOTAL else value) for name, value in columns]
    if plan.read.is_paged:
        row, rows, edges = page_rows(plan.read, strips_nulls=plan.output.strips_nulls)
        source = concat(raw("with hw_page as ("), page_sql(plan.read), raw(") "))
        frame = RowFrame(b"[", b"," if plan.output.strips_nulls else _BETWEEN_VALUES, b"]")
        columns = [(name, edges if name is OutputColumn.EDGES else value) for name, value in columns]
    else:
        rows, source = rows_and_source(plan)
        row, frame = _row(plan)
    names = [ident(name.value) for name, _ in columns]
    empty = [concat(raw("null as "), name) for name in names]
    trailer = [concat(value, raw(" as "), name) for (_, value), name in zip(columns, names, strict=True)]
    statement = concat(
        source,
        raw("select "),
        join(", ", [concat(row, raw(" as "), ident(OutputColumn.BODY.value)), *empty]),
        raw(" from "),
        rows,
        raw(" union all select "),
        join(", ", [raw("null"), *trailer]),
    )
    text, params = render(statement)
    return RestStatement(
        text,
        params,
        tuple(name for name, _ in columns),
        estimates=estimates(plan),
        frame=frame,
        counts_rows=counts_rows,
    )


def _counts_rows(plan: RestPlan) -> bool:
    """Return whether the number of received rows is the total, so that the server need not count them."""
    counts = plan.counts_exactly or plan.counts_by_plan
    return not isinstance(plan, WritePlan) and plan.read.range == ALL_ROWS and counts


def _has_rows(plan: RestPlan) -> bool:
    output = plan.output
    if not plan.returns_rows or output.explain is not None:
        return False
    if isinstance(plan, WritePlan) and plan.nested:
        return False
    if (
        output.shape not in (BodyShape.ARRAY, BodyShape.CSV, BodyShape.GEOJSON)
        or plan.end is TransactionEnd.DECIDE
    ):
        return False
    if isinstance(plan, CallPlan) and plan.call.function.returns is Returns.VOID:
        return False
    if (is_scalar(plan) or plan.read.is_paged) and output.shape is not BodyShape.ARRAY:
        return False
    return not gives_one_row(plan)


def _row(plan: RestPlan) -> tuple[Sql, RowFrame]:
    """Return a row as it stands in the body, and what is put around and between the rows."""
    match plan.output.shape:
        case BodyShape.CSV:
            line = raw("substring(hw_t::text, 2, pg_catalog.length(hw_t::text) - 2)")
            return line, RowFrame(b"", b"\n", b"")
        case BodyShape.GEOJSON:
            return raw("extensions.st_asgeojson(hw_t)::json"), RowFrame(_GEOJSON, _BETWEEN_VALUES, b"]}")
    between = _BETWEEN_ROWS
    if isinstance(plan, CallPlan) and is_scalar(plan):
        row = concat(raw("coalesce(pg_catalog.to_json("), SCALAR_VALUE, raw("), 'null')"))
        name = plan.call.function.return_type[1]
        between = _BETWEEN_ROWS if name.startswith("_") or name == "record" else _BETWEEN_VALUES
    else:
        row = concat(raw("pg_catalog.row_to_json("), T, raw(".*)"))
    if plan.output.strips_nulls:
        row, between = concat(raw("pg_catalog.json_strip_nulls("), row, raw(")")), b","
    return row, RowFrame(b"[", between, b"]")
