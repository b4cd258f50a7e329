"""A graphql-core schema whose types are built when a document names them, so that a large database costs nothing at first use.

In: the described types of a role (`introspection/describe.py`). Out: a `GraphQLSchema` for graphql-core's validation and
coercion. Nothing is executed with it, so it has no resolvers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, cast

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLEnumValue,
    GraphQLField,
    GraphQLIncludeDirective,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLSkipDirective,
    StringValueNode,
    Undefined,
    introspection_types,
    parse_value,
    resolve_thunk,
    specified_scalar_types,
    value_from_ast_untyped,
)
from graphql.language import ConstValueNode
from graphql.type import GraphQLAbstractType
from graphql.type.schema import InterfaceImplementations

from workers.graphql.introspection.types import (
    EnumValue,
    FieldDefinition,
    InputValue,
    TypeDefinition,
    TypeKind,
    TypeRef,
    TypeSystem,
)


class LenientEnum(GraphQLEnumType):
    """An enum whose values may also be written as strings in documents, as in the original (section 11)."""

    def coerce_input_literal(self, value_node: ConstValueNode, hide_suggestions: bool = False) -> object:
        """Return the value of a literal. Raises: GraphQLError for a name or string that is not in the enum."""
        if isinstance(value_node, StringValueNode):
            return self.coerce_input_value(value_node.value, hide_suggestions)
        return super().coerce_input_literal(value_node, hide_suggestions)


class LazyFields(Mapping[str, GraphQLField]):
    """The fields of an object by name, each built when it is first read: Query and Mutation have several for each table."""

    def __init__(self, members: Iterable[object], build: Callable[[FieldDefinition], GraphQLField]) -> None:
        self._members = {member.name: member for member in members if isinstance(member, FieldDefinition)}
        self._build = build
        self._fields: dict[str, GraphQLField] = {}

    def __getitem__(self, name: str) -> GraphQLField:
        field = self._fields.get(name)
        if field is None:
            field = self._fields[name] = self._build(self._members[name])
        return field

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


class LazyObject(GraphQLObjectType):
    """An object whose fields are `LazyFields`, which graphql-core would turn into a dictionary of built fields."""

    @cached_property
    def fields(self) -> dict[str, GraphQLField]:
        """Return the fields by name."""
        return cast(dict[str, GraphQLField], resolve_thunk(self._fields))


class RoleTypes(Mapping[str, GraphQLNamedType]):
    """The types of a role by name, each built when it is first read."""

    def __init__(self, described: TypeSystem, *, has_lenient_enums: bool) -> None:
        self._described = described
        self._enum_class = LenientEnum if has_lenient_enums else GraphQLEnumType
        self._types: dict[str, GraphQLNamedType] = {**specified_scalar_types, **introspection_types}

    def __getitem__(self, name: str) -> GraphQLNamedType:
        type_ = self._types.get(name)
        if type_ is None:
            type_ = self._types[name] = self._build(self._described.types[name])
        return type_

    def _referenced(self, name: str) -> GraphQLNamedType:
        """Return a type by its name; for a name without description, a scalar that accepts any value."""
        if name not in self:
            self._types[name] = GraphQLScalarType(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._described.types or name in self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._described.types)

    def __len__(self) -> int:
        return len(self._described.types)

    def possible(self, interface: str) -> frozenset[str]:
        """Return the names of the objects that implement an interface."""
        definition = self._described.types.get(interface)
        return frozenset(definition.possible) if definition is not None else frozenset()

    def _build(self, definition: TypeDefinition) -> GraphQLNamedType:
        name, members = definition.name, definition.members
        match definition.kind:
            case TypeKind.OBJECT:
                interfaces = definition.interfaces
                return LazyObject(
                    name,
                    lambda: LazyFields(members, self._field),
                    lambda: [cast(GraphQLInterfaceType, self[interface]) for interface in interfaces],
                )
            case TypeKind.INTERFACE:
                return GraphQLInterfaceType(name, lambda: self._fields(members))
            case TypeKind.INPUT_OBJECT:
                return GraphQLInputObjectType(name, lambda: self._input_fields(members))
            case TypeKind.ENUM:
                values = {
                    value.name: GraphQLEnumValue(value.name)
                    for value in members
                    if isinstance(value, EnumValue)
                }
                return self._enum_class(name, values)
        return GraphQLScalarType(name)

    def _fields(self, members: tuple[object, ...]) -> dict[str, GraphQLField]:
        return {field.name: self._field(field) for field in members if isinstance(field, FieldDefinition)}

    def _field(self, field: FieldDefinition) -> GraphQLField:
        return GraphQLField(
            self._type(field.type),
            {
                argument.name: GraphQLArgument(self._type(argument.type), _default(argument))
                for argument in field.args
            },
        )

    def _input_fields(self, members: tuple[object, ...]) -> dict[str, GraphQLInputField]:
        return {
            field.name: GraphQLInputField(self._type(field.type), _default(field))
            for field in members
            if isinstance(field, InputValue)
        }

    def _type(self, reference: TypeRef) -> Any:  # the library has a class for each kind of type
        """Return the type of a reference."""
        if isinstance(reference, str):
            return self._referenced(reference)
        of = self._type(reference.of)
        wrapper = GraphQLNonNull if reference.kind is TypeKind.NON_NULL else GraphQLList
        return wrapper(of)


class LazySchema(GraphQLSchema):
    """A schema over `RoleTypes`. It is known to be valid, so graphql-core does not check it."""

    def __init__(self, described: TypeSystem, *, has_lenient_enums: bool) -> None:
        super().__init__(directives=(GraphQLIncludeDirective, GraphQLSkipDirective), assume_valid=True)
        types = RoleTypes(described, has_lenient_enums=has_lenient_enums)
        self._role_types = types
        self.type_map = cast(dict[str, GraphQLNamedType], types)
        self.query_type = cast(GraphQLObjectType, types[described.query])
        if described.mutation is not None:
            self.mutation_type = cast(GraphQLObjectType, types[described.mutation])
        if described.subscription is not None:
            self.subscription_type = cast(GraphQLObjectType, types[described.subscription])

    def get_implementations(self, interface_type: GraphQLInterfaceType) -> InterfaceImplementations:
        """Return the objects that implement an interface."""
        names = sorted(self._role_types.possible(interface_type.name))
        objects = [cast(GraphQLObjectType, self._role_types[name]) for name in names]
        return InterfaceImplementations(objects=objects, interfaces=[])

    def is_sub_type(self, abstract_type: GraphQLAbstractType, maybe_sub_type: GraphQLNamedType) -> bool:
        """Return whether an object implements an interface."""
        return maybe_sub_type.name in self._role_types.possible(abstract_type.name)


def _default(argument: InputValue) -> object:
    return Undefined if argument.default is None else value_from_ast_untyped(parse_value(argument.default))
