"""Which relationship joins two relations: by name, constraint or column, narrowed by a hint.

Source: docs/reference/rest.md, sections 9.1, 9.3 and 22 ("Resolution").
"""

from workers.database.schema_cache.catalog import Cardinality, Catalog, ComputedRelationship, Relationship
from workers.rest.errors.plan import AmbiguousRelationship, NoRelationship
from workers.rest.model import RestOptions

_SCORE = 0.33


def find_relationship(
    catalog: Catalog, options: RestOptions, schema: str, origin: str, target: str, hint: str | None
) -> Relationship | ComputedRelationship:
    """Find the one relationship that `target!hint` means, seen from `origin`.

    Raises: NoRelationship, AmbiguousRelationship.
    """
    matching = [
        relationship
        for relationship in catalog.relationships.get((schema, origin), ())
        if (relationship.target[0] == schema or isinstance(relationship, ComputedRelationship))
        and _matches(relationship, target, hint)
    ]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        suggestion = _suggestion(catalog, options, schema, origin, target)
        raise NoRelationship(origin, target, hint, schema, suggestion)
    detected = [relationship for relationship in matching if isinstance(relationship, Relationship)]
    if len(detected) < len(matching):
        return next(relationship for relationship in matching if not isinstance(relationship, Relationship))
    raise AmbiguousRelationship(
        origin,
        target,
        [_details(relationship) for relationship in detected],
        [f"{relationship.target[1]}!{_hint_of(relationship)}" for relationship in detected],
    )


def _matches(each: Relationship | ComputedRelationship, target: str, hint: str | None) -> bool:
    if isinstance(each, ComputedRelationship):
        return each.function[1] == target and hint is None
    by_name = each.target[1] == target
    if each.is_self:
        to_many = each.cardinality is Cardinality.ONE_TO_MANY
        if hint is None:
            return (by_name and not each.is_to_one) or (
                _foreign_key_column(each) == target and each.is_to_one
            )
        return by_name and (
            (to_many and (_foreign_key_column(each) == hint or each.constraint == hint))
            or _junction(each) == hint
        )
    if hint is None:
        if by_name:
            return True
        by_key = each.constraint == target or _is_joined_by(each, target)
        return by_key and bool(each.columns) and not each.target_is_view
    return by_name and (
        (bool(each.constraint) and each.constraint == hint)
        or (len(each.columns) == 1 and hint in each.columns[0])
        or _junction(each) == hint
    )


def _is_child(each: Relationship) -> bool:
    """Return whether the foreign key lies on the origin."""
    return each.cardinality is Cardinality.MANY_TO_ONE or (
        each.cardinality is Cardinality.ONE_TO_ONE and not each.is_parent
    )


def _foreign_key_column(each: Relationship) -> str | None:
    if len(each.columns) != 1:
        return None
    return each.columns[0][0] if _is_child(each) else each.columns[0][1]


def _is_joined_by(each: Relationship, column: str) -> bool:
    """Return whether a column of the origin alone joins it: its foreign key, or the key that others refer to."""
    return len(each.columns) == 1 and each.columns[0][0] == column


def _junction(each: Relationship) -> str | None:
    return each.junction.relation[1] if each.junction else None


def _hint_of(each: Relationship) -> str:
    return each.junction.relation[1] if each.junction else each.constraint


def _details(each: Relationship) -> dict[str, str]:
    origin, target = each.origin[1], each.target[1]
    if each.junction:
        between = each.junction
        first = ", ".join(column for _, column in between.columns1)
        second = ", ".join(column for _, column in between.columns2)
        text = (
            f"{between.relation[1]} using {between.constraint1}({first}) and {between.constraint2}({second})"
        )
    else:
        relationships = ", ".join(column for column, _ in each.columns)
        other = ", ".join(column for _, column in each.columns)
        text = f"{each.constraint} using {origin}({relationships}) and {target}({other})"
    return {
        "cardinality": each.cardinality.value,
        "embedding": f"{origin} with {target}",
        "relationship": text,
    }


def _suggestion(catalog: Catalog, options: RestOptions, schema: str, origin: str, target: str) -> str | None:
    """Suggest the parent if it has no relationships at all, else a child; nothing if both exist."""
    relationships = catalog.relationships.get((schema, origin))
    if relationships:
        children = sorted({relationship.target[1] for relationship in relationships})
        near = None if target in children else options.similar(target, children, _SCORE)
        return f"Perhaps you meant '{near}' instead of '{target}'." if near else None
    if (schema, origin) in catalog.relations and (schema, target) in catalog.relations:
        return None  # neither name is wrong: what ties them is hidden, or nothing does
    parents = sorted({name for space, name in catalog.relationships if space == schema})
    near = options.similar(origin, parents, _SCORE)
    return f"Perhaps you meant '{near}' instead of '{origin}'." if near else None
