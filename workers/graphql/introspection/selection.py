"""What a selection set asks of an object: response keys with their fields, fragments and directives applied. Pure.

The specification's "CollectFields" and the merging of fields, as far as introspection needs them.
Source: reference page "graphql", section 11.
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
class Asking:
    """What stands around a selection: fragments by name, and the values of variables (defaults of the operation put in)."""

    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, object]

    def value(self, node: ValueNode) -> object:
        """Give a boolean, text or null that a literal or variable stands for; None for whatever else, and absent ones."""
        if isinstance(node, VariableNode):
            return self.variables.get(node.name.value)
        if isinstance(node, BooleanValueNode | StringValueNode):
            return node.value
        return None


def arguments(field: FieldNode) -> dict[str, ValueNode]:
    """Give the arguments of a field by name, nulls left out."""
    return {
        given.name.value: given.value
        for given in field.arguments or ()
        if not isinstance(given.value, NullValueNode)
    }


def selected(sets: Sequence[SelectionSetNode], type_name: str, asking: Asking) -> dict[str, list[FieldNode]]:
    """Give the fields that selection sets ask of an object of a type, by response key in their order.

    Raises: GraphQLFailure for an unknown or wrong directive or fragment, and for fields that cannot be merged.
    """
    found: dict[str, list[FieldNode]] = {}
    for each in sets:
        for field in _fields(each, type_name, asking, 0):
            key = field.alias.value if field.alias else field.name.value
            twins = found.setdefault(key, [])
            if twins:
                _check_merge(key, twins[0], field)
            twins.append(field)
    return found


def _fields(node: SelectionSetNode, type_name: str, asking: Asking, depth: int) -> Iterator[FieldNode]:
    if depth > _DEEPEST:
        raise GraphQLFailure(f"Fragment cycle depth is greater than {_DEEPEST}")
    for one in node.selections:
        if not _is_wanted(one.directives or (), asking):
            continue
        if isinstance(one, FieldNode):
            yield one
        elif isinstance(one, InlineFragmentNode):
            condition = one.type_condition
            if condition is None or condition.name.value == type_name:
                yield from _fields(one.selection_set, type_name, asking, depth + 1)
        elif isinstance(one, FragmentSpreadNode):
            fragment = asking.fragments.get(one.name.value)
            if fragment is None or fragment.type_condition.name.value != type_name:
                raise GraphQLFailure(f"no fragment named {one.name.value} on type {type_name}")
            yield from _fields(fragment.selection_set, type_name, asking, depth + 1)


def _is_wanted(directives: Sequence[DirectiveNode], asking: Asking) -> bool:
    is_wanted = True
    for directive in directives:
        name = directive.name.value
        if name not in ("skip", "include"):
            raise GraphQLFailure(f"Unknown directive {name}")
        given = {argument.name.value: argument.value for argument in directive.arguments or ()}
        value = asking.value(given["if"]) if "if" in given else None
        if not isinstance(value, bool):
            raise GraphQLFailure(f'Value for "if" in @{name} directive is required')
        is_wanted &= value is (name == "include")
    return is_wanted


def _check_merge(key: str, one: FieldNode, other: FieldNode) -> None:
    if one.name.value != other.name.value:
        raise GraphQLFailure(f"Fields `{one.name.value}` and `{other.name.value}` are different")
    if _told_arguments(one) != _told_arguments(other):
        raise GraphQLFailure(f"Two fields named `{key}` have different arguments")


def _told_arguments(field: FieldNode) -> dict[str, str]:
    return {given.name.value: print_ast(given.value) for given in field.arguments or ()}
