"""The types that every schema has: scalars, their filters, paging, ordering, and introspection's own types. A table.

Source: reference page "graphql", sections 6, 8, 9, 10 and 15; introspection's own types are those of the GraphQL
specification (October 2021), taken from graphql-core as far as it words them alike.
"""

from graphql import introspection_types
from graphql.type import GraphQLEnumType, GraphQLObjectType

from workers.graphql.introspection.types import (
    Directive,
    EnumValue,
    Field,
    InputValue,
    Kind,
    Type,
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


def fixed_types() -> list[Type]:
    """Give the types that do not depend on the database; `Node` and the roots are not among them."""
    return [
        *(Type(Kind.SCALAR, name, description) for name, description in _SCALARS.items()),
        *(_filter(name, name, operators, name) for name, operators in _OPERATORS.items()),
        *(_filter(f"{name}List", f"{name}List", _LIST_OPERATORS, name, is_list=True) for name in _LISTED),
        Type(Kind.ENUM, "FilterIs", None, (EnumValue("NULL"), EnumValue("NOT_NULL"))),
        Type(Kind.ENUM, "OrderByDirection", "Defines a per-field sorting order", _directions()),
        Type(
            Kind.OBJECT,
            "PageInfo",
            None,
            (
                Field("endCursor", "String"),
                Field("hasNextPage", required("Boolean")),
                Field("hasPreviousPage", required("Boolean")),
                Field("startCursor", "String"),
            ),
        ),
        *(_introspection_type(name) for name in INTROSPECTION_NAMES),
    ]


def enum_filter(name: str) -> Type:
    """Give the type of filters on values of an enum."""
    return _filter(name, name, _ENUM_OPERATORS, name)


def _filter(name: str, told: str, operators: tuple[str, ...], operand: str, *, is_list: bool = False) -> Type:
    members = tuple(InputValue(operator, _operand(operator, operand, is_list)) for operator in operators)
    description = f'Boolean expression comparing fields on type "{told}"'
    return Type(Kind.INPUT_OBJECT, f"{name}Filter", description, members)


def _operand(operator: str, operand: str, is_list: bool) -> TypeRef:
    if operator == "is":
        return "FilterIs"
    return list_of(required(operand)) if is_list or operator in _LIST_OPERANDS else operand


def _directions() -> tuple[EnumValue, ...]:
    return tuple(
        EnumValue(f"{short}Nulls{place}", f"{long} order, nulls {place.lower()}")
        for short, long in (("Asc", "Ascending"), ("Desc", "Descending"))
        for place in ("First", "Last")
    )


_DEPRECATED_TOO = (InputValue("includeDeprecated", "Boolean", None, "false"),)
_META: dict[str, tuple[tuple[str, TypeRef, bool], ...]] = {
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
"""Fields of introspection's own types: name, type, and whether it asks about what is deprecated."""
_REWORDED = {
    "__Directive": (("\n", r"\n"), ("GraphQL's execution", "GraphQL execution")),
    "__Type": (("\n", r"\n"), ("compose other types.", "compose other types ")),
    "__Schema.subscriptionType": (("supports", "support"),),
    "__DirectiveLocation.VARIABLE_DEFINITION": (("an operation variable", "a variable"),),
}
"""Where clients of the original read other signs than graphql-core has (conformance, issue_581)."""
_LATER_LOCATIONS = frozenset({"FRAGMENT_VARIABLE_DEFINITION", "DIRECTIVE_DEFINITION"})
"""Locations of drafts after the specification of October 2021."""


def _introspection_type(name: str) -> Type:
    known = introspection_types[name]
    description = _worded(name, known.description)
    if isinstance(known, GraphQLObjectType):
        fields = (
            Field(
                field,
                of,
                _worded(f"{name}.{field}", known.fields[field].description),
                _DEPRECATED_TOO if is_asking else (),
            )
            for field, of, is_asking in _META[name]
        )
        return Type(Kind.OBJECT, name, description, tuple(fields))
    assert isinstance(known, GraphQLEnumType)  # there are no other kinds among them
    values = (
        EnumValue(value, None if name == "__TypeKind" else _worded(f"{name}.{value}", told.description))
        for value, told in known.values.items()
        if value not in _LATER_LOCATIONS
    )
    return Type(Kind.ENUM, name, description, tuple(values))


def _worded(place: str, text: str | None) -> str | None:
    for old, new in _REWORDED.get(place, ()):
        text = text.replace(old, new) if text else text
    return text
