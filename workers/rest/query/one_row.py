"""Which answers have at most one row: the server makes those in one value, which is the quickest way. Pure.

A wrong answer here costs memory or time, never a wrong body: both forms of a statement give the same bytes.
"""

from workers.database.schema_cache.catalog import Returns
from workers.rest.model import CallPlan, PlannedFilter, ReadPlan, RequestAction, RestPlan, WritePlan
from workers.sql.compose import ParameterSlot


def gives_one_row(plan: RestPlan) -> bool:
    """Return whether there is at most one row: by the limit, by the primary key, or since one is inserted or returned."""
    if plan.read.range.limit == 1:
        return True
    match plan:
        case CallPlan(call=call):
            return not call.function.returns_set
        case WritePlan(write=write):
            where = write.where
            if write.action in (RequestAction.CREATE, RequestAction.UPSERT) and not write.is_array:
                return True
        case ReadPlan():
            where = plan.read.where
    key = plan.relation.primary_key if plan.relation is not None else ()
    named = {item.field.name for item in where if isinstance(item, PlannedFilter) and _is_equality(item)}
    return bool(key) and named.issuperset(key)


def is_scalar(plan: RestPlan) -> bool:
    """Return whether the rows are values without columns."""
    return isinstance(plan, CallPlan) and plan.call.function.returns is Returns.SCALAR


def _is_equality(condition: PlannedFilter) -> bool:
    is_plain = not (condition.negated or condition.quantifier or condition.aggregate)
    field = condition.field
    is_column = not (field.path or field.cast or field.function)
    return (
        condition.operator == "eq"
        and is_plain
        and is_column
        and isinstance(condition.operand, str | ParameterSlot)
    )
