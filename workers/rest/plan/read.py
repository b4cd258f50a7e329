"""The relations to read: each node of the tree resolved against the catalog, from the leaves up.

Source: reference page "rest", sections 8 to 11.
"""

from dataclasses import dataclass, field, replace

from workers.database.catalog import Catalog, ComputedRelationship, Relation
from workers.rest.errors import AggregatesDisabled, RelatedOrderNotToOne
from workers.rest.model import (
    Action,
    ApiRequest,
    Embed,
    Field,
    Options,
    OrderTerm,
    PlannedColumn,
    PlannedField,
    PlannedOrder,
    Range,
    Read,
    SelectColumn,
    SpreadColumn,
)
from workers.rest.plan.conditions import Embeds, null_filters, plan_condition
from workers.rest.plan.embed import find_relationship
from workers.rest.plan.fields import Scope, planned
from workers.rest.plan.spread import lifted
from workers.rest.plan.tree import Node, Tree, plant

_MAX_IDENTIFIER = 63


@dataclass(slots=True)
class Building:
    """What all nodes share while they are resolved."""

    catalog: Catalog
    options: Options
    schema: str
    tree: Tree
    max_rows: int | None
    used: set[str] = field(default_factory=set)

    def alias(self, *parts: str) -> str:
        """Make a name that nothing else in the statement has, within the length that Postgres keeps."""
        wanted = "_".join(parts)
        if len(wanted.encode()) > _MAX_IDENTIFIER - 5:
            wanted = "hw_embed"
        number = 1
        while f"{wanted}_{number}" in self.used:
            number += 1
        self.used.add(f"{wanted}_{number}")
        return f"{wanted}_{number}"


def plan_read(
    asked: ApiRequest, catalog: Catalog, options: Options, relation: Relation | None, alias: str
) -> tuple[Read, tuple[tuple[str, str], ...]]:
    """Plan the rows of a request and give the warnings that go with them.

    `relation` describes the rows (None: a record that no relation describes), `alias` names them in the statement.
    Raises: NotEmbedded, NoRelationship, AmbiguousRelationship, RelatedOrderNotToOne, AggregatesDisabled, NotImplementedHere.
    """
    tree = plant(asked, relation.name if relation else asked.target, options)
    max_rows = options.max_rows if asked.action in (Action.READ, Action.CALL) else None
    building = Building(catalog, options, asked.schema, tree, max_rows)
    _find_ways(building, tree.root, relation)
    return _resolve(building, tree.root, relation, alias, max_rows), tuple(tree.warnings)


def _find_ways(building: Building, node: Node, relation: Relation | None) -> None:
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
    building: Building, node: Node, relation: Relation | None, alias: str, max_rows: int | None
) -> Read:
    scope = Scope(building.catalog, building.options, relation)
    origin = relation.name if relation else node.name
    embeds = [(child, _embed(building, child, origin)) for child in node.children]
    order = tuple(_order(building, scope, node, embeds, origin, term) for term in node.order)
    where = tuple(plan_condition(scope, embeds, each) for each in node.conditions)
    matters = {each.embed for each in null_filters(where)}
    if matters or any(term.embed for term in order):
        embeds = [(child, _marked(embed, order, matters)) for child, embed in embeds]
    groups = _groups(node, embeds)
    if groups and not building.options.aggregates_enabled:
        raise AggregatesDisabled
    distinct = None if node.distinct is None else tuple(planned(scope, each) for each in node.distinct)
    spelled_out = groups or (node.embed is not None and node.embed.is_spread) or scope.has_representations()
    return Read(
        source=(relation.schema, relation.name) if relation else (building.schema, node.name),
        alias=alias,
        items=_items(scope, node, embeds, spelled_out),
        where=where,
        order=order if distinct is None else _leading(distinct, order),
        range=_capped(node.range, max_rows),
        groups=groups,
        row_type=(relation.schema, relation.name) if relation else None,
        having=tuple(plan_condition(scope, [], each) for each in node.having),
        distinct=distinct,
    )


def _embed(building: Building, child: Node, origin: str) -> Embed:
    asked, found = child.embed, child.way
    assert asked is not None  # only the root has none
    assert found is not None
    inner = building.alias(found.target[1])
    # Of one row at most, a cap would only keep the database's planner from joining.
    max_rows = None if found.is_to_one else building.max_rows
    read = _resolve(building, child, building.catalog.relations.get(found.target), inner, max_rows)
    if isinstance(found, ComputedRelationship):
        read = replace(read, source=found.function)
    spread: tuple[SpreadColumn, ...] = ()
    if asked.is_spread:
        read, spread = lifted(read, is_to_one=found.is_to_one)
    return Embed(
        read=read,
        key=child.key,
        alias=building.alias(origin, child.key),
        relationship=found,
        is_to_one=found.is_to_one,
        is_inner=asked.join == "inner",
        is_spread=asked.is_spread,
        is_hidden=all(isinstance(item, Embed) and item.is_hidden for item in read.items),
        drops_parents=asked.join == "inner",
        spread=spread,
    )


def _marked(embed: Embed, order: tuple[PlannedOrder, ...], matters: set[str]) -> Embed:
    """Note on an embed that its parent orders by it, or filters on whether it has rows."""
    terms = tuple(term for term in order if term.embed == embed.alias and not term.is_lifted)
    return replace(embed, ordered_by=terms, drops_parents=embed.drops_parents or embed.alias in matters)


def _groups(node: Node, embeds: Embeds) -> bool:
    own = any(isinstance(item, SelectColumn) and item.aggregate for item in node.select)
    return (
        own
        or bool(node.having)
        or any(column.aggregate for _, embed in embeds if embed.is_to_one for column in embed.spread)
    )


# --- order ------------------------------------------------------------------------------------


def _order(
    building: Building, scope: Scope, node: Node, embeds: Embeds, origin: str, term: OrderTerm
) -> PlannedOrder:
    if term.relation is None:
        return PlannedOrder(planned(scope, term.field), term.descending, term.nulls)
    child = building.tree.child(node, term.relation)
    embed = next(embed for each, embed in embeds if each is child)
    if not embed.is_to_one:
        raise RelatedOrderNotToOne(origin, term.relation)
    for lifted_column in embed.spread:
        if lifted_column.name == term.field.name and not term.field.path and not lifted_column.aggregate:
            return PlannedOrder(
                PlannedField(lifted_column.carried), term.descending, term.nulls, embed.alias, True
            )
    relation = building.catalog.relations.get(embed.relationship.target)
    inner = Scope(building.catalog, building.options, relation)
    field = _renamed(embed, term.field) or planned(inner, term.field)
    return PlannedOrder(field, term.descending, term.nulls, embed.alias)


def _leading(fields: tuple[PlannedField, ...], order: tuple[PlannedOrder, ...]) -> tuple[PlannedOrder, ...]:
    """Put the fields in which rows must differ first, as Postgres demands, in the direction asked for."""
    by_field = {term.field: term for term in order if term.embed is None}
    leading = tuple(by_field.get(field) or PlannedOrder(field, None, None) for field in fields)
    return (*leading, *(term for term in order if term not in leading))


def _renamed(embed: Embed, asked: Field) -> PlannedField | None:
    """Find the column that an embed shows under this name, when the name is not the column's own."""
    for item in embed.read.items:
        if isinstance(item, PlannedColumn) and item.alias == asked.name and not asked.path:
            return item.field
    return None


# --- what is selected ----------------------------------------------------------------------------------------


def _items(scope: Scope, node: Node, embeds: Embeds, spelled_out: bool) -> tuple[PlannedColumn | Embed, ...]:
    """Resolve `select` in its order; `*` is written out where each column is needed by its name."""
    waiting = iter(embed for _, embed in embeds)
    items: list[PlannedColumn | Embed] = []
    for item in node.select:
        if not isinstance(item, SelectColumn):
            items.append(next(waiting))
        elif item.is_star and spelled_out and scope.relation is not None:
            items += [PlannedColumn(planned(scope, Field(name))) for name in scope.relation.columns]
        else:
            items.append(
                PlannedColumn(
                    planned(scope, item.field), item.alias, item.cast, item.aggregate, item.aggregate_cast
                )
            )
    return tuple(items)


def _capped(rows: Range, max_rows: int | None) -> Range:
    if max_rows is None:
        return rows
    limit = rows.limit
    return Range(rows.offset, min(limit, max_rows) if isinstance(limit, int) else max_rows)
