"""Conditions against the catalog: filters, logic trees, null filters on embeds, tests of related rows.

Source: reference page "rest", section 7; docs/rest-additions.md.
"""

from workers.database.catalog import ComputedRelationship, Relation, Relationship
from workers.rest.errors import BadQuery, NoRelationship, NotEmbedded
from workers.rest.model import (
    Condition,
    Embed,
    EmbedNull,
    Field,
    Filter,
    Logic,
    PlannedCondition,
    PlannedFilter,
    PlannedLogic,
    PlannedRelated,
    Related,
)
from workers.rest.plan.embed import find_relationship
from workers.rest.plan.fields import Scope, planned
from workers.rest.plan.tree import Node

Embeds = list[tuple[Node, Embed]]
"""The embeds of a resource, each with what was asked for."""


def plan_conditions(scope: Scope, conditions: list[Condition]) -> tuple[PlannedCondition, ...]:
    """Resolve conditions on a relation without embeds (the rows of a write). Raises: as `plan_condition`."""
    return tuple(plan_condition(scope, [], each) for each in conditions)


def plan_condition(scope: Scope, embeds: Embeds, condition: Condition, depth: int = 0) -> PlannedCondition:
    """Resolve a condition; `depth` counts the tests of related rows around it.

    Raises: NotEmbedded, NoRelationship, AmbiguousRelationship, BadQuery.
    """
    if isinstance(condition, Logic):
        branches = tuple(plan_condition(scope, embeds, each, depth) for each in condition.branches)
        return PlannedLogic(condition.operator, condition.negated, branches)
    if isinstance(condition, Related):
        return _related(scope, embeds, condition, depth)
    embed = _null_embed(embeds, condition, by_name=scope.options.legacy_target_names)
    if embed is not None:
        return EmbedNull(embed.alias, condition.negated != (condition.operand == "not_null"))
    operand = condition.operand
    return PlannedFilter(
        planned(scope, condition.field),
        condition.operator,
        planned(scope, operand) if isinstance(operand, Field) else operand,
        condition.negated,
        condition.quantifier,
        condition.config,
        condition.aggregate,
    )


def _related(scope: Scope, embeds: Embeds, condition: Related, depth: int) -> PlannedRelated:
    """Resolve a test of related rows: an embed of the request by its name, or any relationship of the relation."""
    known = next((embed for child, embed in embeds if child.key == condition.name), None)
    if known is not None and condition.hint is None:
        found = known.relationship
    elif scope.relation is None:
        raise NotEmbedded(condition.name)
    else:
        found = _relationship(scope, scope.relation, condition)
    inner = Scope(scope.catalog, scope.options, scope.catalog.relations.get(found.target))
    where = tuple(plan_condition(inner, [], each, depth + 1) for each in condition.branches)
    source = found.function if isinstance(found, ComputedRelationship) else found.target
    return PlannedRelated(found, source, f"hw_related_{depth}", condition.negated, where)


def _relationship(scope: Scope, origin: Relation, condition: Related) -> Relationship | ComputedRelationship:
    try:
        return find_relationship(
            scope.catalog, scope.options, origin.schema, origin.name, condition.name, condition.hint
        )
    except NoRelationship as missing:
        if condition.otherwise is None or condition.hint is not None or missing.hint is not None:
            raise
        raise BadQuery(*condition.otherwise) from None


def _null_embed(embeds: Embeds, condition: Filter, *, by_name: bool) -> Embed | None:
    """Find the embed that a null filter means (reference 7.6); any other operator means a column.

    `by_name`: one with an alias may still go by its own name.
    """
    if condition.operator != "is" or condition.operand not in ("null", "not_null") or condition.field.path:
        return None
    name = condition.field.name
    named = (embed for child, embed in embeds if child.name == name) if by_name else iter(())
    return next((embed for child, embed in embeds if child.key == name), None) or next(named, None)


def null_filters(conditions: tuple[PlannedCondition, ...]) -> list[EmbedNull]:
    """List the null filters on embeds among conditions."""
    found: list[EmbedNull] = []
    for each in conditions:
        if isinstance(each, EmbedNull):
            found.append(each)
        elif isinstance(each, PlannedLogic):
            found += null_filters(each.branches)
    return found
