"""The types that every schema has."""

from graphql import specified_scalar_types

from workers.graphql.introspection.fixed_types import enum_filter, fixed_types
from workers.graphql.introspection.types import TypeKind, list_of, required

_TYPES = {each.name: each for each in fixed_types()}


def test_all_scalars_are_there_and_described():
    scalars = [each for each in _TYPES.values() if each.kind is TypeKind.SCALAR]

    assert len(scalars) == 14
    assert all(each.description for each in scalars)
    assert {name for name in specified_scalar_types} <= {each.name for each in scalars}


def test_operators_are_sorted_and_take_what_they_need():
    for each in _TYPES.values():
        if each.name.endswith("Filter"):
            names = [member.name for member in each.members]
            assert names == sorted(names)
    strings = {member.name: member.type for member in _TYPES["StringFilter"].members}
    assert strings["in"] is list_of(required("String"))
    assert strings["is"] == "FilterIs"
    assert strings["startsWith"] == "String"


def test_what_cannot_be_compared_has_no_filter():
    assert (
        not {"JSONFilter", "OpaqueListFilter", "JSONListFilter", "IDListFilter", "CursorFilter"}
        & _TYPES.keys()
    )


def test_lists_contain_and_overlap():
    assert [member.name for member in _TYPES["UUIDListFilter"].members] == [
        "containedBy",
        "contains",
        "eq",
        "is",
        "overlaps",
    ]


def test_introspection_describes_itself():
    names = [field.name for field in _TYPES["__Type"].members]

    assert names == sorted(names)
    assert _TYPES["__TypeKind"].members[0].description is None
    assert "DIRECTIVE_DEFINITION" not in {value.name for value in _TYPES["__DirectiveLocation"].members}


def test_equal_references_are_one_object():
    assert required(list_of(required("Int"))) is required(list_of(required("Int")))
    assert enum_filter("Shelf").members[0].type == "Shelf"
