"""Conditions against the catalog: filters, logic trees, null filters on embeds, tests of related rows.

Source: docs/reference/rest.md, section 7; docs/rest-additions.md.
"""

from workers.database.schema_cache.catalog import CatalogRelation, ComputedRelationship, Relationship
from workers.rest.errors.parse import BadQuery
from workers.rest.errors.plan import NoRelationship, NotEmbedded
from workers.rest.model import (
    Condition,
    Embed,
    EmbedNull,
    FieldFilter,
    FieldPath,
    Logic,
    PlannedCondition,
    PlannedFilter,
    PlannedLogic,
    PlannedRelated,
    RelatedTest,
)
from workers.rest.plan.embed import find_relationship
from workers.rest.plan.fields import FieldScope, resolve_field
from workers.rest.plan.tree import ResourceNode

Embeds = list[tuple[ResourceNode, Embed]]
"""The embeds of a resource, each with what was asked for."""


def plan_conditions(scope: FieldScope, conditions: list[Condition]) -> tuple[PlannedCondition, ...]:
    """Resolve conditions on a relation without embeds (the rows of a write). Raises: as `plan_condition`."""
    return tuple([plan_condition(scope, [], condition) for condition in conditions])


def plan_condition(
    scope: FieldScope, embeds: Embeds, condition: Condition, depth: int = 0
) -> PlannedCondition:
    """Resolve a condition; `depth` counts the tests of related rows around it.

    Raises: NotEmbedded, NoRelationship, AmbiguousRelationship, BadQuery.
    """
    if isinstance(condition, Logic):
        branches = tuple([plan_condition(scope, embeds, branch, depth) for branch in condition.branches])
        return PlannedLogic(condition.operator, condition.negated, branches)
    if isinstance(condition, RelatedTest):
        return _related(scope, embeds, condition, depth)
    embed = None
    if embeds and condition.operator == "is":
        embed = _null_embed(embeds, condition, by_name=scope.options.legacy_target_names)
    if embed is not None:
        return EmbedNull(embed.alias, condition.negated != (condition.operand == "not_null"))
    operand = condition.operand
    return PlannedFilter(
        resolve_field(scope, condition.field),
        condition.operator,
        resolve_field(scope, operand) if isinstance(operand, FieldPath) else operand,
        condition.negated,
        condition.quantifier,
        condition.config,
        condition.aggregate,
    )


def _related(scope: FieldScope, embeds: Embeds, condition: RelatedTest, depth: int) -> PlannedRelated:
    """Resolve a test of related rows: an embed of the request by its name, or any relationship of the relation."""
    requested_embed = next((embed for child, embed in embeds if child.key == condition.name), None)
    if requested_embed is not None and condition.hint is None:
        relationship = requested_embed.relationship
    elif scope.relation is None:
        raise NotEmbedded(condition.name)
    else:
        relationship = _relationship(scope, scope.relation, condition)
    inner = FieldScope(scope.catalog, scope.options, scope.catalog.relations.get(relationship.target))
    where = tuple(plan_condition(inner, [], branch, depth + 1) for branch in condition.branches)
    source = relationship.function if isinstance(relationship, ComputedRelationship) else relationship.target
    return PlannedRelated(relationship, source, f"hw_related_{depth}", condition.negated, where)


def _relationship(
    scope: FieldScope, origin: CatalogRelation, condition: RelatedTest
) -> Relationship | ComputedRelationship:
    try:
        return find_relationship(
            scope.catalog, scope.options, origin.schema, origin.name, condition.name, condition.hint
        )
    except NoRelationship as missing:
        if condition.otherwise is None or condition.hint is not None or missing.hint is not None:
            raise
        raise BadQuery(*condition.otherwise) from None


def _null_embed(embeds: Embeds, condition: FieldFilter, *, by_name: bool) -> Embed | None:
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
    relationship: list[EmbedNull] = []
    for condition in conditions:
        if isinstance(condition, EmbedNull):
            relationship.append(condition)
        elif isinstance(condition, PlannedLogic):
            relationship += null_filters(condition.branches)
    return relationship
