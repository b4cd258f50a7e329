"""Plan `onConflict` of an insert: skip or update rows that exist already. Pure. Source: docs/graphql.md, "Upserts"."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan.filters import plan_filter
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, InputKind
from workers.graphql.plan.selection import PlanContext, quoted
from workers.graphql.plan.tree import ConflictClause
from workers.graphql.plan.values import extra_keys, invalid_input

_KEYS = ("constraint", "updateColumns", "filter")


def plan_conflict(planning: PlanContext, entity: Entity, value: ArgumentValue) -> ConflictClause | None:
    """Plan `onConflict` of an insert; None where it is absent or null. Raises: GraphQLFailure."""
    if value.is_missing:
        return None
    type_name = f"{entity.name}OnConflict"
    if value.kind is not InputKind.OBJECT:
        raise invalid_input(type_name)
    entries = value.entries()
    unknown = [name for name in entries if name not in _KEYS]
    if unknown:
        raise extra_keys(type_name, unknown)
    columns = _columns(entity, entries.get("updateColumns", ABSENT_ARGUMENT))
    condition = plan_filter(planning, entity, entries.get("filter", ABSENT_ARGUMENT))
    if condition is not None and not columns:
        raise GraphQLFailure("onConflict: a filter needs updateColumns, else nothing is changed anyway")
    return ConflictClause(_constraint(entity, entries.get("constraint", ABSENT_ARGUMENT)), columns, condition)


def _constraint(entity: Entity, value: ArgumentValue) -> str:
    """Return the name of a primary key or unique constraint. Raises: GraphQLFailure if the table does not have it."""
    if value.is_missing:
        raise invalid_input("NonNull")
    name = value.steering_value()
    constraints = [constraint for constraint, _ in entity.unique_keys]
    if not isinstance(name, str) or name not in constraints:
        available = f"it has {', '.join(map(quoted, constraints))}" if constraints else "it has none"
        raise GraphQLFailure(f"onConflict: {entity.name} has no such unique constraint, {available}")
    return str(name)


def _columns(entity: Entity, value: ArgumentValue) -> tuple[str, ...]:
    """Return the columns to update. Raises: GraphQLFailure for a column that the role may not update."""
    names: dict[str, None] = {}
    for element in [] if value.is_missing else value.as_list():
        name = element.steering_value()
        column = entity.columns.get(name) if isinstance(name, str) else None
        if column is None:
            raise invalid_input(f"{entity.name}UpdateColumn")
        if not column.is_updatable:
            raise GraphQLFailure(f"onConflict: {quoted(column.name)} of {entity.name} may not be updated")
        names[column.sql] = None
    return tuple(names)
