"""The tree of requested resources, each with its parameters, before it is resolved against the catalog.

An unknown path is refused here, so before an unknown relationship. Source: docs/reference/rest.md, sections 7.5 and 9.3.
"""

from msgspec import Struct, field

from workers.database.schema_cache.catalog import ComputedRelationship, Relationship
from workers.rest.errors.plan import NotEmbedded
from workers.rest.model import (
    ALL_ROWS,
    ApiRequest,
    Condition,
    FieldPath,
    OrderTerm,
    Path,
    RequestAction,
    RestOptions,
    RowRange,
    SelectEmbed,
    SelectItem,
)


class ResourceNode(Struct, eq=False):
    """A resource and what was asked of it. `children` are its embeds, in the order of `select`."""

    name: str
    select: tuple[SelectItem, ...]
    embed: SelectEmbed | None = None
    conditions: list[Condition] = field(default_factory=list)
    order: tuple[OrderTerm, ...] = ()
    range: RowRange = ALL_ROWS
    having: list[Condition] = field(default_factory=list)
    distinct: tuple[FieldPath, ...] | None = None
    children: "list[ResourceNode]" = field(default_factory=list)
    way: Relationship | ComputedRelationship | None = None
    """How its rows are related to those of the resource around it; the root has none."""

    @property
    def key(self) -> str:
        """Its name in the output, and in paths."""
        return (self.embed.alias if self.embed else None) or self.name


class Tree(Struct, eq=False):
    """The whole, with the embeds that were referenced by name although they have an alias: (name, alias)."""

    root: ResourceNode
    legacy_names: bool
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def at(self, path: Path) -> ResourceNode:
        """Find the node of a path. Raises: NotEmbedded."""
        node = self.root
        for name in path:
            node = self.child(node, name)
        return node

    def child(self, node: ResourceNode, name: str) -> ResourceNode:
        """Find an embed by its alias, or (legacy) by its name. Raises: NotEmbedded."""
        for child in node.children:
            if child.key == name:
                return child
        for child in node.children:
            if child.name == name:
                return self._by_name(child)
        raise NotEmbedded(name)

    def _by_name(self, node: ResourceNode) -> ResourceNode:
        if not self.legacy_names:
            raise NotEmbedded(
                node.name,
                "Target names are not allowed in filters if they have an alias",
                f"Change '{node.name}' to '{node.key}' in filters, orders or limits.",
            )
        if (node.name, node.key) not in self.warnings:
            self.warnings.append((node.name, node.key))
        return node


def plant(request: ApiRequest, name: str, options: RestOptions) -> Tree:
    """Make the tree of a request. On writes the root's filters and ranges are not part of it: they choose rows to change.

    Raises: NotEmbedded.
    """
    is_read = request.action in (RequestAction.READ, RequestAction.CALL)
    tree = Tree(_grown(ResourceNode(name, request.query.select)), options.legacy_target_names)
    for path, condition in request.query.filters:
        if path or is_read:
            (tree.at(path) if path else tree.root).conditions.append(condition)
    for path, terms in request.query.order:
        tree.at(path).order = terms
    for path, rows in request.query.ranges:
        node = tree.at(path)
        if is_read:
            node.range = rows
    if is_read:
        tree.root.range = request.range
    for path, logic in request.query.logic:
        if path or is_read:
            tree.at(path).conditions.append(logic)
    for path, having in request.query.having:
        tree.at(path).having.append(having)
    for path, fields in request.query.distinct:
        tree.at(path).distinct = fields
    return tree


def _grown(node: ResourceNode) -> ResourceNode:
    for item in node.select:
        if isinstance(item, SelectEmbed):
            node.children.append(_grown(ResourceNode(item.name, item.select, item)))
    return node
