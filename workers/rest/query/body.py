"""The column of an answer that holds its body. Pure. Source: docs/reference/rest.md, sections 15 and 24."""

from workers.database.schema_cache.catalog import Returns
from workers.rest.model import ALL_ROWS, BodyShape, CallPlan, RestPlan, WritePlan
from workers.rest.query.columns import SCALAR_VALUE, T
from workers.rest.query.one_row import gives_one_row, is_scalar
from workers.sql.compose import Sql, concat, qualified, raw

_SENT_AS_BYTES = frozenset({"bytea", "text", "varchar", "bpchar", "json"})
"""Types whose values in binary, in which bodies are fetched, are the bytes of the body. Before those of jsonb stands a version."""
_AGGREGATED = raw("pg_catalog.json_agg(hw_t)")


def body_sql(plan: RestPlan) -> Sql:
    """Return the body of an answer, made by the server of all rows (`hw_t`); null where the answer shows none."""
    if not plan.returns_rows and plan.output.explain is None:
        return raw("null::text")
    if isinstance(plan, WritePlan) and not plan.returns_rows:
        return raw("null::text")
    function = plan.call.function if isinstance(plan, CallPlan) else None
    if function is not None and function.returns is Returns.VOID:
        return raw("null::text")
    has_values = is_scalar(plan)
    single = function is not None and not function.returns_set
    value = SCALAR_VALUE if has_values else T
    match plan.output.shape:
        case BodyShape.HANDLER:
            return _handled(plan, value)
        case BodyShape.CSV:
            return _csv(has_values)
        case BodyShape.GEOJSON:
            return raw(
                "pg_catalog.json_build_object('type', 'FeatureCollection', 'features', "
                "coalesce(pg_catalog.json_agg(extensions.st_asgeojson(hw_t)::json), '[]'))"
            )
    rows = _AGGREGATED if value is T else concat(raw("pg_catalog.json_agg("), value, raw(")"))
    if counts_others(plan):
        rows = raw("pg_catalog.json_agg(hw_t.hw_one) filter (where hw_t.hw_one is not null)")
    if plan.output.strips_nulls:
        rows = concat(raw("pg_catalog.json_strip_nulls("), rows, raw(")"))
    if single or plan.output.shape is BodyShape.SINGLE:
        return concat(raw("coalesce("), rows, raw(" -> 0, 'null')"))
    return concat(raw("coalesce("), rows, raw(", '[]')"))


def is_handled_value(plan: RestPlan) -> bool:
    """Return whether the body is the value of a function as it is: one row, of which nothing is aggregated.

    `offset 0` behind the call lets the function run before what it set for the response is read.
    """
    handler = plan.output.handler
    return handler is not None and handler.is_scalar and is_scalar(plan) and plan.read.range == ALL_ROWS


def _handled(plan: RestPlan, value: Sql) -> Sql:
    handler = plan.output.handler
    assert handler is not None  # the shape says so
    if is_handled_value(plan):
        body = value
    elif handler.is_scalar:
        body = concat(raw("(pg_catalog.array_agg("), value, raw("))[1]"))
    else:
        typed = concat(value, raw("::"), qualified(*handler.relation)) if handler.relation else value
        body = concat(qualified(*handler.function), raw("("), typed, raw(")"))
    return body if handler.base_type in _SENT_AS_BYTES else concat(body, raw("::text"))


def _csv(has_values: bool) -> Sql:
    """Return a header of keys and the rows as Postgres writes composite values."""
    if has_values:
        return raw(
            "'pgrst_scalar' || E'\\n' || coalesce(pg_catalog.string_agg(hw_t.pgrst_scalar::text, E'\\n'), '')"
        )
    return raw(
        "(select coalesce(pg_catalog.string_agg(hw_key, ','), '') from (select pg_catalog.json_object_keys(hw_row) as hw_key "
        "from (select pg_catalog.row_to_json(hw_page.*) as hw_row from hw_page limit 1) as hw_first) as hw_header) || E'\\n' || "
        "coalesce(pg_catalog.string_agg(substring(hw_t::text, 2, length(hw_t::text) - 2), E'\\n'), '')"
    )


def counts_others(plan: RestPlan) -> bool:
    """Return whether one object is wanted of rows that may be many: only the first is made, the others are counted."""
    if not plan.returns_rows or plan.output.shape is not BodyShape.SINGLE or plan.output.explain is not None:
        return False
    return not (plan.read.is_paged or is_scalar(plan) or gives_one_row(plan))
