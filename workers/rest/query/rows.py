"""The same answer as `query.py` makes, but one row of the result for each row of the body. Pure.

`json_agg` holds the whole body in the server's memory, about four times. Here the server sends each row as soon as it is made,
and the worker joins them (`workers/database/row_body.py`):

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

from workers.database.catalog import Returns
from workers.database.session import End
from workers.rest.model import ALL_ROWS, Frame, Out, Plan, Prepared, Shape
from workers.rest.query.one_row import gives_one_row, is_scalar
from workers.rest.query.paging import page_rows
from workers.rest.query.query import NO_COUNT, SCALAR_VALUE, T, answer_columns, estimates, rows_and_source
from workers.rest.query.read import page_sql
from workers.sql.compose import Sql, concat, ident, join, raw, render

_GEOJSON = b'{"type" : "FeatureCollection", "features" : ['
_BETWEEN_ROWS, _BETWEEN_VALUES = b", \n ", b", "
_HEADER = raw(
    "(select coalesce(pg_catalog.string_agg(hw_key, ','), '') from (select pg_catalog.json_object_keys(hw_row) as hw_key "
    "from (select pg_catalog.row_to_json(hw_page) as hw_row from hw_page limit 1) as hw_first) as hw_header)"
)


def rows_query_for(plan: Plan) -> Prepared | None:
    """Render the statement that gives the body of a plan row by row; None where there is no such form."""
    if not _has_rows(plan):
        return None
    columns = [pair for pair in answer_columns(plan) if pair[0] not in (Out.BODY, Out.PAGE_TOTAL)]
    if plan.output.shape is Shape.CSV:
        columns.append((Out.PREFIX, _HEADER))
    counts_rows = _counts_rows(plan)
    if counts_rows:
        columns = [(name, NO_COUNT if name is Out.TOTAL else value) for name, value in columns]
    if plan.read.is_paged:
        row, rows, edges = page_rows(plan.read, strips_nulls=plan.output.strips_nulls)
        source = concat(raw("with hw_page as ("), page_sql(plan.read), raw(") "))
        frame = Frame(b"[", b"," if plan.output.strips_nulls else _BETWEEN_VALUES, b"]")
        columns = [(name, edges if name is Out.EDGES else value) for name, value in columns]
    else:
        rows, source = rows_and_source(plan)
        row, frame = _row(plan)
    names = [ident(name.value) for name, _ in columns]
    empty = [concat(raw("null as "), name) for name in names]
    trailer = [concat(value, raw(" as "), name) for (_, value), name in zip(columns, names, strict=True)]
    statement = concat(
        source,
        raw("select "),
        join(", ", [concat(row, raw(" as "), ident(Out.BODY.value)), *empty]),
        raw(" from "),
        rows,
        raw(" union all select "),
        join(", ", [raw("null"), *trailer]),
    )
    text, params = render(statement)
    return Prepared(
        text,
        params,
        tuple(name for name, _ in columns),
        estimates=estimates(plan),
        frame=frame,
        counts_rows=counts_rows,
    )


def _counts_rows(plan: Plan) -> bool:
    """Return whether the number of rows that come is the total: there is no need to count them in the server."""
    return plan.write is None and plan.read.range == ALL_ROWS and (plan.counts_exactly or plan.counts_by_plan)


def _has_rows(plan: Plan) -> bool:
    output, call = plan.output, plan.call
    if not plan.returns_rows or output.explain is not None or plan.nested:
        return False
    if output.shape not in (Shape.ARRAY, Shape.CSV, Shape.GEOJSON) or plan.end is End.DECIDE:
        return False
    if call is not None and call.function.returns is Returns.VOID:
        return False
    if (is_scalar(plan) or plan.read.is_paged) and output.shape is not Shape.ARRAY:
        return False
    return not gives_one_row(plan)


def _row(plan: Plan) -> tuple[Sql, Frame]:
    """Return a row as it stands in the body, and what is put around and between the rows."""
    match plan.output.shape:
        case Shape.CSV:
            line = raw("substring(hw_t::text, 2, pg_catalog.length(hw_t::text) - 2)")
            return line, Frame(b"", b"\n", b"")
        case Shape.GEOJSON:
            return raw("extensions.st_asgeojson(hw_t)::json"), Frame(_GEOJSON, _BETWEEN_VALUES, b"]}")
    between = _BETWEEN_ROWS
    if plan.call is not None and is_scalar(plan):
        row = concat(raw("coalesce(pg_catalog.to_json("), SCALAR_VALUE, raw("), 'null')"))
        name = plan.call.function.return_type[1]
        between = _BETWEEN_ROWS if name.startswith("_") or name == "record" else _BETWEEN_VALUES
    else:
        row = concat(raw("pg_catalog.row_to_json("), T, raw(")"))
    if plan.output.strips_nulls:
        row, between = concat(raw("pg_catalog.json_strip_nulls("), row, raw(")")), b","
    return row, Frame(b"[", between, b"]")
