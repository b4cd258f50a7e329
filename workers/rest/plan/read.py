"""The relations to read: each node of the tree resolved against the catalog, from the leaves up.

Source: docs/reference/rest.md, sections 8 to 11.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from workers.database.schema_cache.catalog import Catalog, CatalogRelation, ComputedRelationship
from workers.rest.errors.plan import AggregatesDisabled, RelatedOrderNotToOne
from workers.rest.model import (
    ApiRequest,
    Embed,
    FieldPath,
    OrderTerm,
    PlannedColumn,
    PlannedCondition,
    PlannedField,
    PlannedOrder,
    RelationRead,
    RequestAction,
    RestOptions,
    RowRange,
    SelectColumn,
    SpreadColumn,
)
from workers.rest.plan.conditions import Embeds, null_filters, plan_condition, plan_conditions
from workers.rest.plan.embed import find_relationship
from workers.rest.plan.fields import FieldScope, resolve_field
from workers.rest.plan.spread import lifted
from workers.rest.plan.tree import ResourceNode, Tree, plant

_MAX_IDENTIFIER = 63


class Building(Struct, eq=False):
    """What all nodes share while they are resolved."""

    catalog: Catalog
    options: RestOptions
    schema: str
    tree: Tree
    max_rows: int | None
    numbers: dict[str, int] = field(default_factory=dict)
    """The last number of each name: a request may embed a relation thousands of times."""

    def alias(self, *parts: str) -> str:
        """Make a name that nothing else in the statement has, within the length that Postgres keeps."""
        name = "_".join(parts)
        if len(name.encode()) > _MAX_IDENTIFIER - 5:
            name = "hw_embed"
        self.numbers[name] = number = self.numbers.get(name, 0) + 1
        return f"{name}_{number}"


def plan_read(
    request: ApiRequest, catalog: Catalog, options: RestOptions, relation: CatalogRelation | None, alias: str
) -> tuple[RelationRead, tuple[tuple[str, str], ...]]:
    """Plan the rows of a request and give the warnings that go with them.

    `relation` describes the rows (None: a record that no relation describes), `alias` names them in the statement.
    Raises: NotEmbedded, NoRelationship, AmbiguousRelationship, RelatedOrderNotToOne, AggregatesDisabled, NotImplementedHere.
    """
    tree = plant(request, relation.name if relation else request.target, options)
    max_rows = options.max_rows if request.action in (RequestAction.READ, RequestAction.CALL) else None
    building = Building(catalog, options, request.schema, tree, max_rows)
    _find_ways(building, tree.root, relation)
    return _resolve(building, tree.root, relation, alias, max_rows), tuple(tree.warnings)


def _find_ways(building: Building, node: ResourceNode, relation: CatalogRelation | None) -> None:
    """Find the relationships of the whole tree: one that is not there is refused before anything else is.

    Raises: NoRelationship, AmbiguousRelationship.
    """
    origin = relation.name if relation else node.name
    for child in node.children:
        hint = child.embed.hint if child.embed else None
        child.way = find_relationship(
            building.catalog, building.options, building.schema, origin, child.name, hint
        )
        _find_ways(building, child, building.catalog.relations.get(child.way.target))


def _resolve(
    building: Building, node: ResourceNode, relation: CatalogRelation | None, alias: str, max_rows: int | None
) -> RelationRead:
    scope = FieldScope(building.catalog, building.options, relation)
    origin = relation.name if relation else node.name
    embeds: Embeds = []
    for child in node.children:  # most resources have none: a loop calls nothing
        embeds.append((child, _embed(building, child, origin)))
    order: tuple[PlannedOrder, ...] = ()
    if node.order:
        order = tuple([_order(building, scope, node, embeds, origin, term) for term in node.order])
    where: tuple[PlannedCondition, ...] = ()
    if node.conditions:
        where = tuple([plan_condition(scope, embeds, condition) for condition in node.conditions])
    if embeds:
        embeds = _all_marked(embeds, order, where)
    groups = _groups(node, embeds)
    if groups and not building.options.aggregates_enabled:
        raise AggregatesDisabled
    distinct = None if node.distinct is None else tuple(resolve_field(scope, item) for item in node.distinct)
    spelled_out = groups or (node.embed is not None and node.embed.is_spread)
    return RelationRead(
        source=(relation.schema, relation.name) if relation else (building.schema, node.name),
        alias=alias,
        items=_items(scope, node, embeds, spelled_out),
        where=where,
        order=order if distinct is None else _leading(distinct, order),
        range=node.range if max_rows is None else _capped(node.range, max_rows),
        groups=groups,
        row_type=(relation.schema, relation.name) if relation else None,
        having=plan_conditions(scope, node.having) if node.having else (),
        distinct=distinct,
    )


def _embed(building: Building, child: ResourceNode, origin: str) -> Embed:
    request, relationship = child.embed, child.way
    assert request is not None  # only the root has none
    assert relationship is not None
    inner = building.alias(relationship.target[1])
    # Of one row at most, a cap would only keep the database's planner from joining.
    max_rows = None if relationship.is_to_one else building.max_rows
    read = _resolve(building, child, building.catalog.relations.get(relationship.target), inner, max_rows)
    if isinstance(relationship, ComputedRelationship):
        read = replace(read, source=relationship.function)
    spread: tuple[SpreadColumn, ...] = ()
    if request.is_spread:
        read, spread = lifted(read, is_to_one=relationship.is_to_one)
    return Embed(
        read=read,
        key=child.key,
        alias=building.alias(origin, child.key),
        relationship=relationship,
        is_to_one=relationship.is_to_one,
        is_inner=request.join == "inner",
        is_spread=request.is_spread,
        is_hidden=all(isinstance(item, Embed) and item.is_hidden for item in read.items),
        drops_parents=request.join == "inner",
        spread=spread,
    )


def _all_marked(
    embeds: Embeds, order: tuple[PlannedOrder, ...], where: tuple[PlannedCondition, ...]
) -> Embeds:
    matters = {item.embed for item in null_filters(where)}
    if matters or any(term.embed for term in order):
        return [(child, _marked(embed, order, matters)) for child, embed in embeds]
    return embeds


def _marked(embed: Embed, order: tuple[PlannedOrder, ...], matters: set[str]) -> Embed:
    """Note on an embed that its parent orders by it, or filters on whether it has rows."""
    terms = tuple(term for term in order if term.embed == embed.alias and not term.is_lifted)
    return replace(embed, ordered_by=terms, drops_parents=embed.drops_parents or embed.alias in matters)


def _groups(node: ResourceNode, embeds: Embeds) -> bool:
    if node.having:
        return True
    for item in node.select:
        if isinstance(item, SelectColumn) and item.aggregate:
            return True
    for _, embed in embeds:
        if embed.spread and embed.is_to_one and any([column.aggregate for column in embed.spread]):
            return True
    return False


# --- order ------------------------------------------------------------------------------------


def _order(
    building: Building, scope: FieldScope, node: ResourceNode, embeds: Embeds, origin: str, term: OrderTerm
) -> PlannedOrder:
    if term.relation is None:
        return PlannedOrder(resolve_field(scope, term.field), term.descending, term.nulls)
    child = building.tree.child(node, term.relation)
    embed = next(embed for item, embed in embeds if item is child)
    if not embed.is_to_one:
        raise RelatedOrderNotToOne(origin, term.relation)
    for lifted_column in embed.spread:
        if lifted_column.name == term.field.name and not term.field.path and not lifted_column.aggregate:
            return PlannedOrder(
                PlannedField(lifted_column.carried), term.descending, term.nulls, embed.alias, True
            )
    relation = building.catalog.relations.get(embed.relationship.target)
    inner = FieldScope(building.catalog, building.options, relation)
    field = _renamed(embed, term.field) or resolve_field(inner, term.field)
    return PlannedOrder(field, term.descending, term.nulls, embed.alias)


def _leading(fields: tuple[PlannedField, ...], order: tuple[PlannedOrder, ...]) -> tuple[PlannedOrder, ...]:
    """Move the fields in which rows must differ first, as Postgres demands, in the direction asked for."""
    by_field = {term.field: term for term in order if term.embed is None}
    leading = tuple(by_field.get(field) or PlannedOrder(field, None, None) for field in fields)
    return (*leading, *(term for term in order if term not in leading))


def _renamed(embed: Embed, request: FieldPath) -> PlannedField | None:
    """Find the column that an embed shows under this name, when the name is not the column's own."""
    for item in embed.read.items:
        if isinstance(item, PlannedColumn) and item.alias == request.name and not request.path:
            return item.field
    return None


# --- what is selected ----------------------------------------------------------------------------------------


def _items(
    scope: FieldScope, node: ResourceNode, embeds: Embeds, spelled_out: bool
) -> tuple[PlannedColumn | Embed, ...]:
    """Resolve `select` in its order; `*` is written out where each column is needed by its name."""
    waiting = iter(embeds)
    items: list[PlannedColumn | Embed] = []
    for item in node.select:
        if not isinstance(item, SelectColumn):
            items.append(next(waiting)[1])
        elif (
            item.field.name == "*"
            and item.is_star
            and scope.relation is not None
            and (spelled_out or scope.has_representations())
        ):
            items += [PlannedColumn(resolve_field(scope, FieldPath(name))) for name in scope.relation.columns]
        else:
            items.append(
                PlannedColumn(
                    resolve_field(scope, item.field),
                    item.alias,
                    item.cast,
                    item.aggregate,
                    item.aggregate_cast,
                )
            )
    return tuple(items)


def _capped(rows: RowRange, max_rows: int) -> RowRange:
    limit = rows.limit
    return RowRange(rows.offset, min(limit, max_rows) if isinstance(limit, int) else max_rows)
