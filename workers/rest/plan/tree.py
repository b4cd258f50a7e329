"""The tree of resources as it was asked for: parameters at their places, before the catalog is looked at.

An unknown path is refused here, so before an unknown relationship. Source: reference page "rest", sections 7.5 and 9.3.
"""

from dataclasses import dataclass, field

from workers.database.catalog import ComputedRelationship, Relationship
from workers.rest.errors import NotEmbedded
from workers.rest.model import (
    ALL_ROWS,
    Action,
    ApiRequest,
    Condition,
    Field,
    Options,
    OrderTerm,
    Path,
    Range,
    SelectEmbed,
    SelectItem,
)


@dataclass(slots=True)
class Node:
    """A resource and what was asked of it. `children` are its embeds, in the order of `select`."""

    name: str
    select: tuple[SelectItem, ...]
    embed: SelectEmbed | None = None
    conditions: list[Condition] = field(default_factory=list)
    order: tuple[OrderTerm, ...] = ()
    range: Range = ALL_ROWS
    having: list[Condition] = field(default_factory=list)
    distinct: tuple[Field, ...] | None = None
    children: "list[Node]" = field(default_factory=list)
    way: Relationship | ComputedRelationship | None = None
    """How its rows are related to those of the resource around it; the root has none."""

    @property
    def key(self) -> str:
        """Its name in the output, and in paths."""
        return (self.embed.alias if self.embed else None) or self.name


@dataclass(slots=True)
class Tree:
    """The whole, with the embeds that were referenced by name although they have an alias: (name, alias)."""

    root: Node
    legacy_names: bool
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def at(self, path: Path) -> Node:
        """Find the node of a path. Raises: NotEmbedded."""
        node = self.root
        for name in path:
            node = self.child(node, name)
        return node

    def child(self, node: Node, name: str) -> Node:
        """Find an embed by its alias, or (legacy) by its name. Raises: NotEmbedded."""
        for each in node.children:
            if each.key == name:
                return each
        for each in node.children:
            if each.name == name:
                return self._by_name(each)
        raise NotEmbedded(name)

    def _by_name(self, node: Node) -> Node:
        if not self.legacy_names:
            raise NotEmbedded(
                node.name,
                "Target names are not allowed in filters if they have an alias",
                f"Change '{node.name}' to '{node.key}' in filters, orders or limits.",
            )
        if (node.name, node.key) not in self.warnings:
            self.warnings.append((node.name, node.key))
        return node


def plant(asked: ApiRequest, name: str, options: Options) -> Tree:
    """Make the tree of a request. On writes the root's filters and ranges are not part of it: they choose rows to change.

    Raises: NotEmbedded.
    """
    is_read = asked.action in (Action.READ, Action.CALL)
    tree = Tree(_grown(Node(name, asked.query.select)), options.legacy_target_names)
    for path, condition in asked.query.filters:
        if path or is_read:
            tree.at(path).conditions.append(condition)
    for path, terms in asked.query.order:
        tree.at(path).order = terms
    for path, rows in asked.query.ranges:
        node = tree.at(path)
        if is_read:
            node.range = rows
    if is_read:
        tree.root.range = asked.range
    for path, logic in asked.query.logic:
        if path or is_read:
            tree.at(path).conditions.append(logic)
    for path, having in asked.query.having:
        tree.at(path).having.append(having)
    for path, fields in asked.query.distinct:
        tree.at(path).distinct = fields
    return tree


def _grown(node: Node) -> Node:
    node.children = [
        _grown(Node(item.name, item.select, item)) for item in node.select if isinstance(item, SelectEmbed)
    ]
    return node
