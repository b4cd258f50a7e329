"""Collect the fields of selection sets in introspection queries: expand fragments, apply directives, merge fields. Pure.

This is "CollectFields" of the specification, as far as introspection needs it; `plan/selection.py` does the same for rows.
Source: docs/reference/graphql.md, section 11.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphql.language import (
    DirectiveNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    print_ast,
)
from graphql.language.ast import BooleanValueNode, NullValueNode, StringValueNode

from workers.graphql.errors import GraphQLFailure

_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class SelectionContext:
    """Fragments by name, and the values of variables, including the defaults of the operation."""

    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, object]

    def value(self, node: ValueNode) -> object:
        """Return the boolean or text of a literal or variable; None for null, any other literal, and an absent variable."""
        if isinstance(node, VariableNode):
            return self.variables.get(node.name.value)
        if isinstance(node, BooleanValueNode | StringValueNode):
            return node.value
        return None


def arguments(field: FieldNode) -> dict[str, ValueNode]:
    """Return the arguments of a field by name, without nulls."""
    return {
        argument.name.value: argument.value
        for argument in field.arguments or ()
        if not isinstance(argument.value, NullValueNode)
    }


def collect_fields(
    sets: Sequence[SelectionSetNode], type_name: str, context: SelectionContext
) -> dict[str, list[FieldNode]]:
    """Return the fields of selection sets on a type, by response key in the order of the document.

    Raises: GraphQLFailure for an unknown or invalid directive or fragment, and for fields that cannot be merged.
    """
    fields_by_key: dict[str, list[FieldNode]] = {}
    for selection_set in sets:
        for field in _fields(selection_set, type_name, context, 0):
            key = field.alias.value if field.alias else field.name.value
            twins = fields_by_key.setdefault(key, [])
            if twins:
                _check_merge(key, twins[0], field)
            twins.append(field)
    return fields_by_key


def _fields(
    node: SelectionSetNode, type_name: str, context: SelectionContext, depth: int
) -> Iterator[FieldNode]:
    if depth > _DEEPEST:
        raise GraphQLFailure(f"Fragment cycle depth is greater than {_DEEPEST}")
    for selection in node.selections:
        if not _is_included(selection.directives or (), context):
            continue
        if isinstance(selection, FieldNode):
            yield selection
        elif isinstance(selection, InlineFragmentNode):
            condition = selection.type_condition
            if condition is None or condition.name.value == type_name:
                yield from _fields(selection.selection_set, type_name, context, depth + 1)
        elif isinstance(selection, FragmentSpreadNode):
            fragment = context.fragments.get(selection.name.value)
            if fragment is None or fragment.type_condition.name.value != type_name:
                raise GraphQLFailure(f"no fragment named {selection.name.value} on type {type_name}")
            yield from _fields(fragment.selection_set, type_name, context, depth + 1)


def _is_included(directives: Sequence[DirectiveNode], context: SelectionContext) -> bool:
    is_included = True
    for directive in directives:
        name = directive.name.value
        if name not in ("skip", "include"):
            raise GraphQLFailure(f"Unknown directive {name}")
        arguments = {argument.name.value: argument.value for argument in directive.arguments or ()}
        value = context.value(arguments["if"]) if "if" in arguments else None
        if not isinstance(value, bool):
            raise GraphQLFailure(f'Value for "if" in @{name} directive is required')
        is_included &= value is (name == "include")
    return is_included


def _check_merge(key: str, first: FieldNode, other: FieldNode) -> None:
    if first.name.value != other.name.value:
        raise GraphQLFailure(f"Fields `{first.name.value}` and `{other.name.value}` are different")
    if _printed_arguments(first) != _printed_arguments(other):
        raise GraphQLFailure(f"Two fields named `{key}` have different arguments")


def _printed_arguments(field: FieldNode) -> dict[str, str]:
    return {argument.name.value: print_ast(argument.value) for argument in field.arguments or ()}
