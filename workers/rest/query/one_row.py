"""Which answers have at most one row: the server makes those in one value, which is the quickest way. Pure.

A wrong answer here costs memory or time, never a wrong body: both forms of a statement give the same bytes.
"""

from workers.database.catalog import Returns
from workers.rest.model import Action, Plan, PlannedFilter
from workers.sql.compose import Slot


def gives_one_row(plan: Plan) -> bool:
    """Return whether there is at most one row: by the limit, by the primary key, or since one is inserted or returned."""
    if plan.read.range.limit == 1 or (plan.call is not None and not plan.call.function.returns_set):
        return True
    where, write = plan.read.where, plan.write
    if write is not None:
        where = write.where
        if write.action in (Action.CREATE, Action.UPSERT) and not write.is_array:
            return True
    key = plan.relation.primary_key if plan.relation is not None and plan.call is None else ()
    named = {each.field.name for each in where if isinstance(each, PlannedFilter) and _is_equality(each)}
    return bool(key) and named.issuperset(key)


def is_scalar(plan: Plan) -> bool:
    """Return whether the rows are values without columns."""
    return plan.call is not None and plan.call.function.returns is Returns.SCALAR


def _is_equality(condition: PlannedFilter) -> bool:
    is_plain = not (condition.negated or condition.quantifier or condition.aggregate)
    field = condition.field
    is_column = not (field.path or field.cast or field.function)
    return condition.operator == "eq" and is_plain and is_column and isinstance(condition.operand, str | Slot)
