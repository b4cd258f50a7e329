"""Types of values."""

import pytest

from workers.graphql.model import EnumType
from workers.graphql.reflect.privileges import RolePrivileges
from workers.graphql.reflect.rows import ReflectedRoles, ReflectedType
from workers.graphql.reflect.values import ValueTypes


def _row(oid, sql, kind="b", *, element=0, base=0, modifier=-1, relation=0, acl=None):
    return ReflectedType(oid, "s", sql, sql, kind, element, relation, base, modifier, False, acl, None, None)


_TYPES = {
    row.oid: row
    for row in (
        _row(1043, "character varying"),
        _row(20, "bigint"),
        _row(1016, "bigint[]", element=20),
        _row(100, "color", "e"),
        _row(101, "color[]", element=100),
        _row(102, "kept", "e", acl="owner=U/owner"),
        _row(103, "kept[]", element=102),
        _row(104, "short", "d", base=1043, modifier=9),
        _row(105, "shorter", "d", base=104),
        _row(106, "colors", "d", base=101),
        _row(107, "point_row", "c", relation=55),
        _row(108, "anything", "p"),
        _row(109, "inet"),
    )
}
_COLOR = EnumType("Color", ("s", "color"), {"RED": "red"})


@pytest.fixture
def values():
    return ValueTypes(_TYPES, {100: _COLOR}, RolePrivileges(ReflectedRoles([], []), "someone"))


def test_only_texts_have_a_length(values):
    assert values.find(1043, 14).max_length == 10
    assert values.find(1043).max_length is None
    assert values.find(20, 14).max_length is None


def test_a_domain_counts_as_what_lies_under_it(values):
    short, colors = values.find(105), values.find(106)

    assert (short.scalar, short.sql, short.max_length) == ("String", "character varying", 5)
    assert (colors.scalar, colors.is_list, colors.enum) == ("Color", True, _COLOR)


def test_elements_of_lists_keep_their_form(values):
    assert values.find(1016).is_text
    assert values.find(1016).sql == "bigint[]"


def test_an_enum_that_may_not_be_used_is_opaque_and_a_list_of_it_nothing(values):
    assert values.find(102).scalar == "Opaque"
    assert values.find(103) is None


def test_rows_pseudo_types_and_unknown_types_are_no_values(values):
    assert [values.find(oid) for oid in (107, 108, 999)] == [None, None, None]
    assert values.row_of(107) == 55
    assert values.row_of(999) == 0


def test_all_else_is_opaque(values):
    assert values.find(109).scalar == "Opaque"


def test_enums_are_known_behind_domains_and_lists(values):
    assert [oid for oid in _TYPES if values.is_enum(oid)] == [100, 101, 102, 103, 106]


def test_keys_are_integers_texts_and_uuids(values):
    assert [oid for oid in _TYPES if values.is_key(oid)] == [1043, 20, 104, 105]
