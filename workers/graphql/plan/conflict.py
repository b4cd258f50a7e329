"""`onConflict`: what becomes of new rows that are there already. Pure. Source: docs/graphql.md, "Upserts"."""

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Entity
from workers.graphql.plan.filters import condition_of
from workers.graphql.plan.inputs import NOTHING, Given, Kind
from workers.graphql.plan.selection import Planning, quoted
from workers.graphql.plan.tree import Conflict
from workers.graphql.plan.values import extra_keys, invalid

_KEYS = ("constraint", "updateColumns", "filter")


def conflict_of(planning: Planning, entity: Entity, given: Given) -> Conflict | None:
    """Read `onConflict` of an insert; None where nothing is given. Raises: GraphQLFailure."""
    if given.is_nothing:
        return None
    type_name = f"{entity.name}OnConflict"
    if given.kind is not Kind.OBJECT:
        raise invalid(type_name)
    entries = given.entries()
    extra = [name for name in entries if name not in _KEYS]
    if extra:
        raise extra_keys(type_name, extra)
    columns = _columns(entity, entries.get("updateColumns", NOTHING))
    condition = condition_of(planning, entity, entries.get("filter", NOTHING))
    if condition is not None and not columns:
        raise GraphQLFailure("onConflict: a filter needs updateColumns, else nothing is changed anyway")
    return Conflict(_constraint(entity, entries.get("constraint", NOTHING)), columns, condition)


def _constraint(entity: Entity, given: Given) -> str:
    """Read the name of a primary key or unique constraint."""
    if given.is_nothing:
        raise invalid("NonNull")
    name = given.look()
    known = [each for each, _ in entity.unique_keys]
    if not isinstance(name, str) or name not in known:
        told = f"it has {', '.join(map(quoted, known))}" if known else "it has none"
        raise GraphQLFailure(f"onConflict: {entity.name} has no such unique constraint, {told}")
    return str(name)


def _columns(entity: Entity, given: Given) -> tuple[str, ...]:
    """Read the columns that take the new values. Raises: GraphQLFailure for one that the role may not change."""
    found: dict[str, None] = {}
    for one in [] if given.is_nothing else given.as_list():
        name = one.look()
        column = entity.columns.get(name) if isinstance(name, str) else None
        if column is None:
            raise invalid(f"{entity.name}UpdateColumn")
        if not column.is_updatable:
            raise GraphQLFailure(f"onConflict: {quoted(column.name)} of {entity.name} may not be updated")
        found[column.sql] = None
    return tuple(found)
