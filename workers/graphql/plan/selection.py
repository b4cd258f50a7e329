"""Collect the fields of selection sets: expand fragments, apply `@skip` and `@include`, merge equal response keys. Pure.

Source: docs/reference/graphql.md, section 11. A type condition must name the concrete type.
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

from workers.graphql.errors import GraphQLFailure, QueryTooComplex
from workers.graphql.model import RoleSchema
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, Inputs

TYPE_NAME = "__typename"


@dataclass(slots=True)
class PlanContext:
    """Everything that planning one operation needs: the role's schema, fragments, argument values, limits, and the cost so far."""

    schema: RoleSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    inputs: Inputs
    limits: OperationLimits
    rows: int = 1
    """Product of the sizes of the surrounding pages: how often a page inside them may be read."""
    cost: int = 0

    def add_cost(self, rows: int) -> None:
        """Add the rows of a page, multiplied by the rows of the surrounding pages. Raises: QueryTooComplex beyond the limit."""
        self.cost += self.rows * rows
        if 0 < self.limits.cost < self.cost:
            raise QueryTooComplex(f"The query asks for more than {self.limits.cost} rows", "max_cost")


@dataclass(slots=True)
class SelectedField:
    """A field with one response key, and all its occurrences in the document."""

    key: str
    nodes: list[FieldNode]

    @property
    def node(self) -> FieldNode:
        """Return the first occurrence; all occurrences have the same arguments."""
        return self.nodes[0]

    @property
    def name(self) -> str:
        """Return the name of the field."""
        return self.nodes[0].name.value

    @property
    def sets(self) -> list[SelectionSetNode]:
        """Return the selection sets of all occurrences."""
        return [node.selection_set for node in self.nodes if node.selection_set is not None]


def select(
    planning: PlanContext, sets: Iterable[SelectionSetNode], type_name: str, *, is_abstract: bool = False
) -> list[SelectedField]:
    """Return the fields of selection sets on a type, each response key once, in the order of the document.

    `is_abstract`: the sets are on an interface, so fragments on other types are skipped.
    Raises: GraphQLFailure for unknown fragments and directives, and fields that cannot be merged.
    """
    fields: dict[str, SelectedField] = {}
    visited: set[str] = set()

    def visit(selections: Iterable[SelectionNode]) -> None:
        for node in selections:
            if node.directives and not _is_included(planning, node.directives):
                continue
            if type(node) is FieldNode:
                _merge(fields, node)
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                if condition is None or condition.name.value in (type_name, "Node" if is_abstract else None):
                    visit(node.selection_set.selections)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in visited:
                visited.add(node.name.value)
                fragment = planning.fragments.get(node.name.value)
                type_condition = fragment.type_condition.name.value if fragment is not None else None
                if fragment is not None and type_condition in (
                    type_name,
                    "Node" if is_abstract else type_name,
                ):
                    visit(fragment.selection_set.selections)
                elif fragment is None or not is_abstract:
                    raise GraphQLFailure(f"no fragment named {node.name.value} on type {type_name}")

    for selection_set in sets:
        visit(selection_set.selections)
    return list(fields.values())


def arguments(planning: PlanContext, node: FieldNode, allowed: Iterable[str]) -> dict[str, ArgumentValue]:
    """Return the arguments of a field by name. Raises: GraphQLFailure for an argument that the field does not have."""
    if not node.arguments:
        return {}
    unknown = [argument.name.value for argument in node.arguments if argument.name.value not in allowed]
    if unknown:
        raise GraphQLFailure(f"Input contains extra keys [{', '.join(quoted(name) for name in unknown)}]")
    return {argument.name.value: planning.inputs.value_of(argument.value) for argument in node.arguments}


def required(values: Mapping[str, ArgumentValue], name: str) -> ArgumentValue:
    """Return a required argument. Raises: GraphQLFailure if it is absent or null."""
    value = values.get(name, ABSENT_ARGUMENT)
    if value.is_missing:
        raise GraphQLFailure("Invalid input for NonNull type")
    return value


def quoted(name: str) -> str:
    """Return a name in quotation marks, for a message."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _merge(fields: dict[str, SelectedField], node: FieldNode) -> None:
    key = node.alias.value if node.alias is not None else node.name.value
    existing = fields.get(key)
    if existing is None:
        fields[key] = SelectedField(key, [node])
        return
    if existing.name != node.name.value:
        raise GraphQLFailure(f"Fields `{node.name.value}` and `{existing.name}` are different")
    if (node.arguments or existing.node.arguments) and _printed_arguments(node) != _printed_arguments(
        existing.node
    ):
        raise GraphQLFailure(f"Two fields named `{node.name.value}` have different arguments")
    existing.nodes.append(node)


def _printed_arguments(node: FieldNode) -> list[tuple[str, str]]:
    """Return the arguments as text; two occurrences must have the same text."""
    arguments: Iterable[ArgumentNode] = node.arguments or ()
    return sorted((argument.name.value, print_ast(argument.value)) for argument in arguments)


def _is_included(planning: PlanContext, directives: Iterable[DirectiveNode]) -> bool:
    is_included = True
    for directive in directives:
        name = directive.name.value
        if name not in ("skip", "include"):
            raise GraphQLFailure(f"Unknown directive {name}")
        arguments = {
            argument.name.value: planning.inputs.value_of(argument.value)
            for argument in directive.arguments or ()
        }
        value = arguments.get("if", ABSENT_ARGUMENT).steering_value()
        if not isinstance(value, bool):
            raise GraphQLFailure(f'Value for "if" in @{name} directive is required')
        is_included &= value is (name == "include")
    return is_included
