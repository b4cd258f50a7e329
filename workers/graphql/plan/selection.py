"""Selection sets: fragments opened, directives obeyed, fields with one response key merged. Pure.

Source: reference page "graphql", section 11. A type condition must name the concrete type.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graphql.language import (
    ArgumentNode,
    DirectiveNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    SelectionNode,
    SelectionSetNode,
    print_ast,
)

from workers.graphql.errors import GraphQLFailure, TooMuch
from workers.graphql.model import Schema
from workers.graphql.parse.limits import Limits
from workers.graphql.plan.inputs import NOTHING, Given, Inputs

TYPE_NAME = "__typename"


@dataclass(slots=True)
class Planning:
    """What making one plan takes: the role's schema, the fragments, the values given, and the bounds."""

    schema: Schema
    fragments: Mapping[str, FragmentDefinitionNode]
    inputs: Inputs
    limits: Limits
    rows: int = 1
    """Rows that the surrounding pages may hold."""
    cost: int = 0

    def spend(self, rows: int) -> None:
        """Count the rows of a page, for each row around it. Raises: GraphQLFailure beyond the limit."""
        self.cost += self.rows * rows
        if 0 < self.limits.cost < self.cost:
            raise TooMuch(f"The query asks for more than {self.limits.cost} rows", "max_cost")


@dataclass(slots=True)
class Selected:
    """A field under one response key, with all its mentions."""

    key: str
    nodes: list[FieldNode]

    @property
    def node(self) -> FieldNode:
        """Give the first mention, which has the arguments of all."""
        return self.nodes[0]

    @property
    def name(self) -> str:
        """Give the name of the field."""
        return self.nodes[0].name.value

    @property
    def sets(self) -> list[SelectionSetNode]:
        """Give what is asked of the value, mention by mention."""
        return [node.selection_set for node in self.nodes if node.selection_set is not None]


def select(
    planning: Planning, sets: Iterable[SelectionSetNode], type_name: str, *, is_abstract: bool = False
) -> list[Selected]:
    """Give the fields that selection sets on a type ask for, each response key once, in the order of the document.

    `is_abstract`: the sets stand on an interface, so fragments of other types are passed over.
    Raises: GraphQLFailure for unknown fragments and directives, and fields that cannot be merged.
    """
    found: dict[str, Selected] = {}
    seen: set[str] = set()

    def visit(selections: Iterable[SelectionNode]) -> None:
        for node in selections:
            if node.directives and not _is_included(planning, node.directives):
                continue
            if type(node) is FieldNode:
                _merge(found, node)
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                if condition is None or condition.name.value in (type_name, "Node" if is_abstract else None):
                    visit(node.selection_set.selections)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = planning.fragments.get(node.name.value)
                wanted = fragment.type_condition.name.value if fragment is not None else None
                if fragment is not None and wanted in (type_name, "Node" if is_abstract else type_name):
                    visit(fragment.selection_set.selections)
                elif fragment is None or not is_abstract:
                    raise GraphQLFailure(f"no fragment named {node.name.value} on type {type_name}")

    for each in sets:
        visit(each.selections)
    return list(found.values())


def arguments(planning: Planning, node: FieldNode, allowed: Iterable[str]) -> dict[str, Given]:
    """Give the arguments of a field by name. Raises: GraphQLFailure for one that it does not have."""
    if not node.arguments:
        return {}
    extra = [one.name.value for one in node.arguments if one.name.value not in allowed]
    if extra:
        raise GraphQLFailure(f"Input contains extra keys [{', '.join(quoted(name) for name in extra)}]")
    return {one.name.value: planning.inputs.given(one.value) for one in node.arguments}


def required(given: Mapping[str, Given], name: str) -> Given:
    """Give an argument that must be there. Raises: GraphQLFailure."""
    value = given.get(name, NOTHING)
    if value.is_nothing:
        raise GraphQLFailure("Invalid input for NonNull type")
    return value


def quoted(name: str) -> str:
    """Show a name in a message."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _merge(found: dict[str, Selected], node: FieldNode) -> None:
    key = node.alias.value if node.alias is not None else node.name.value
    before = found.get(key)
    if before is None:
        found[key] = Selected(key, [node])
        return
    if before.name != node.name.value:
        raise GraphQLFailure(f"Fields `{node.name.value}` and `{before.name}` are different")
    if (node.arguments or before.node.arguments) and _spelled(node) != _spelled(before.node):
        raise GraphQLFailure(f"Two fields named `{node.name.value}` have different arguments")
    before.nodes.append(node)


def _spelled(node: FieldNode) -> list[tuple[str, str]]:
    """Give the arguments as text: they are compared as they are written."""
    given: Iterable[ArgumentNode] = node.arguments or ()
    return sorted((one.name.value, print_ast(one.value)) for one in given)


def _is_included(planning: Planning, directives: Iterable[DirectiveNode]) -> bool:
    is_included = True
    for directive in directives:
        name = directive.name.value
        if name not in ("skip", "include"):
            raise GraphQLFailure(f"Unknown directive {name}")
        given = {one.name.value: planning.inputs.given(one.value) for one in directive.arguments or ()}
        value = given.get("if", NOTHING).look()
        if not isinstance(value, bool):
            raise GraphQLFailure(f'Value for "if" in @{name} directive is required')
        is_included &= value is (name == "include")
    return is_included
