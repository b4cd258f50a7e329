"""Table of the types that every schema has: scalars, their filters, paging, ordering, and introspection's own types.

Source: docs/reference/graphql.md, sections 6, 8, 9, 10 and 15. Introspection's own types are those of the GraphQL
specification (October 2021); their descriptions are those of graphql-core, with the differences of the original.
"""

from graphql import introspection_types
from graphql.type import GraphQLEnumType, GraphQLObjectType

from workers.graphql.introspection.types import (
    Directive,
    EnumValue,
    FieldDefinition,
    InputValue,
    TypeDefinition,
    TypeKind,
    TypeRef,
    list_of,
    required,
)

_SCALARS = {
    "BigFloat": "A high precision floating point value represented as a string",
    "BigInt": "An arbitrary size integer represented as a string",
    "Boolean": "A value that is true or false",
    "Cursor": "An opaque string using for tracking a position in results during pagination",
    "Date": "A date without time information",
    "Datetime": "A date and time",
    "Float": "A scalar floating point value up to 32 bits",
    "ID": "A globally unique identifier for a given record",
    "Int": "A scalar integer up to 32 bits",
    "JSON": "A Javascript Object Notation value serialized as a string",
    "Opaque": "Any type not handled by the type system",
    "String": "A string",
    "Time": "A time without date information",
    "UUID": "A universally unique identifier",
}
_COMPARED = ("eq", "gt", "gte", "in", "is", "lt", "lte", "neq")
_OPERATORS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("BigFloat", "BigInt", "Date", "Datetime", "Float", "Int", "Time"), _COMPARED),
    "String": tuple(sorted((*_COMPARED, "ilike", "iregex", "like", "regex", "startsWith"))),
    "UUID": ("eq", "in", "is", "neq"),
    "Boolean": ("eq", "is"),
    "Opaque": ("eq", "is"),
    "ID": ("eq",),
}
_ENUM_OPERATORS = ("eq", "in", "is", "neq")
_LIST_OPERATORS = ("containedBy", "contains", "eq", "is", "overlaps")
_LISTED = ("BigFloat", "BigInt", "Boolean", "Date", "Datetime", "Float", "Int", "String", "Time", "UUID")
_LIST_OPERANDS = frozenset({"in", "containedBy", "contains", "overlaps"})
_IF_PLACES = ("FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT")

SCHEMA_DESCRIPTION = "Represents the GraphQL schema of the database"
DIRECTIVES = (
    Directive(
        "include",
        "This field or fragment will be included only when the `if` argument is true.",
        _IF_PLACES,
        (InputValue("if", required("Boolean"), "Included when true"),),
    ),
    Directive(
        "skip",
        "This field or fragment will be skipped when the `if` argument is true.",
        _IF_PLACES,
        (InputValue("if", required("Boolean"), "Skipped when true"),),
    ),
)
INTROSPECTION_NAMES = (
    "__Schema",
    "__Type",
    "__Field",
    "__InputValue",
    "__EnumValue",
    "__Directive",
    "__TypeKind",
    "__DirectiveLocation",
)


def fixed_types() -> list[TypeDefinition]:
    """Return the types that do not depend on the database, without `Node` and the root types."""
    return [
        *(TypeDefinition(TypeKind.SCALAR, name, description) for name, description in _SCALARS.items()),
        *(_filter(name, name, operators, name) for name, operators in _OPERATORS.items()),
        *(_filter(f"{name}List", f"{name}List", _LIST_OPERATORS, name, is_list=True) for name in _LISTED),
        TypeDefinition(TypeKind.ENUM, "FilterIs", None, (EnumValue("NULL"), EnumValue("NOT_NULL"))),
        TypeDefinition(TypeKind.ENUM, "OrderByDirection", "Defines a per-field sorting order", _directions()),
        TypeDefinition(
            TypeKind.OBJECT,
            "PageInfo",
            None,
            (
                FieldDefinition("endCursor", "String"),
                FieldDefinition("hasNextPage", required("Boolean")),
                FieldDefinition("hasPreviousPage", required("Boolean")),
                FieldDefinition("startCursor", "String"),
            ),
        ),
        *(_introspection_type(name) for name in INTROSPECTION_NAMES),
    ]


def enum_filter(name: str) -> TypeDefinition:
    """Return the type of filters on values of an enum."""
    return _filter(name, name, _ENUM_OPERATORS, name)


def _filter(
    name: str, described_name: str, operators: tuple[str, ...], operand: str, *, is_list: bool = False
) -> TypeDefinition:
    members = tuple(InputValue(operator, _operand(operator, operand, is_list)) for operator in operators)
    description = f'Boolean expression comparing fields on type "{described_name}"'
    return TypeDefinition(TypeKind.INPUT_OBJECT, f"{name}Filter", description, members)


def _operand(operator: str, operand: str, is_list: bool) -> TypeRef:
    if operator == "is":
        return "FilterIs"
    return list_of(required(operand)) if is_list or operator in _LIST_OPERANDS else operand


def _directions() -> tuple[EnumValue, ...]:
    return tuple(
        EnumValue(f"{short}Nulls{position}", f"{long} order, nulls {position.lower()}")
        for short, long in (("Asc", "Ascending"), ("Desc", "Descending"))
        for position in ("First", "Last")
    )


_DEPRECATED_TOO = (InputValue("includeDeprecated", "Boolean", None, "false"),)
_META_FIELDS: dict[str, tuple[tuple[str, TypeRef, bool], ...]] = {
    "__Schema": (
        ("description", "String", False),
        ("directives", required(list_of(required("__Directive"))), True),
        ("mutationType", "__Type", False),
        ("queryType", required("__Type"), False),
        ("subscriptionType", "__Type", False),
        ("types", required(list_of(required("__Type"))), False),
    ),
    "__Type": (
        ("description", "String", False),
        ("enumValues", list_of(required("__EnumValue")), True),
        ("fields", list_of(required("__Field")), True),
        ("inputFields", list_of(required("__InputValue")), True),
        ("interfaces", list_of(required("__Type")), False),
        ("kind", required("__TypeKind"), False),
        ("name", "String", False),
        ("ofType", "__Type", False),
        ("possibleTypes", list_of(required("__Type")), False),
        ("specifiedByURL", "String", False),
    ),
    "__Field": (
        ("args", required(list_of(required("__InputValue"))), True),
        ("deprecationReason", "String", False),
        ("description", "String", False),
        ("isDeprecated", required("Boolean"), False),
        ("name", required("String"), False),
        ("type", required("__Type"), False),
    ),
    "__InputValue": (
        ("defaultValue", "String", False),
        ("deprecationReason", "String", False),
        ("description", "String", False),
        ("isDeprecated", required("Boolean"), False),
        ("name", required("String"), False),
        ("type", required("__Type"), False),
    ),
    "__EnumValue": (
        ("deprecationReason", "String", False),
        ("description", "String", False),
        ("isDeprecated", required("Boolean"), False),
        ("name", required("String"), False),
    ),
    "__Directive": (
        ("args", required(list_of(required("__InputValue"))), True),
        ("description", "String", False),
        ("isRepeatable", required("Boolean"), False),
        ("locations", required(list_of(required("__DirectiveLocation"))), False),
        ("name", required("String"), False),
    ),
}
"""Fields of introspection's own types: name, type, and whether the field has the argument `includeDeprecated`."""
_REWORDED = {
    "__Directive": (("\n", r"\n"), ("GraphQL's execution", "GraphQL execution")),
    "__Type": (("\n", r"\n"), ("compose other types.", "compose other types ")),
    "__Schema.subscriptionType": (("supports", "support"),),
    "__DirectiveLocation.VARIABLE_DEFINITION": (("an operation variable", "a variable"),),
}
"""Descriptions where the original's text differs from graphql-core's (conformance, issue_581)."""
_LATER_LOCATIONS = frozenset({"FRAGMENT_VARIABLE_DEFINITION", "DIRECTIVE_DEFINITION"})
"""Locations of drafts after the specification of October 2021."""


def _introspection_type(name: str) -> TypeDefinition:
    core_type = introspection_types[name]
    description = _reworded(name, core_type.description)
    if isinstance(core_type, GraphQLObjectType):
        fields = (
            FieldDefinition(
                field,
                type_ref,
                _reworded(f"{name}.{field}", core_type.fields[field].description),
                _DEPRECATED_TOO if has_deprecation_argument else (),
            )
            for field, type_ref, has_deprecation_argument in _META_FIELDS[name]
        )
        return TypeDefinition(TypeKind.OBJECT, name, description, tuple(fields))
    assert isinstance(core_type, GraphQLEnumType)  # introspection has only objects and enums
    values = (
        EnumValue(
            value, None if name == "__TypeKind" else _reworded(f"{name}.{value}", core_value.description)
        )
        for value, core_value in core_type.values.items()
        if value not in _LATER_LOCATIONS
    )
    return TypeDefinition(TypeKind.ENUM, name, description, tuple(values))


def _reworded(path: str, text: str | None) -> str | None:
    for old, new in _REWORDED.get(path, ()):
        text = text.replace(old, new) if text else text
    return text
