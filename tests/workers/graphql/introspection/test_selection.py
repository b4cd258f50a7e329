"""The fields of selection sets in introspection queries."""

import pytest

from tests.workers.graphql.introspection.queries import parse_query
from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.selection import SelectionContext, collect_fields


def _names(text, variables=None):
    fields, fragments, given = parse_query(text, variables)
    sets = tuple(field.selection_set for field in fields)
    found = collect_fields(sets, "__Schema", SelectionContext(fragments, given))
    return {key: [field.name.value for field in nodes] for key, nodes in found.items()}


def test_fields_keep_their_order_and_their_alias():
    assert _names("{ __schema { b: types { name } description a: types { name } } }") == {
        "b": ["types"],
        "description": ["description"],
        "a": ["types"],
    }


def test_equal_fields_are_merged_across_fragments():
    found = _names(
        "{ __schema { types { name } ...F } __schema { ... { types { kind } } } } fragment F on __Schema { types { name } }"
    )

    assert found == {"types": ["types"] * 3}


def test_fragments_of_other_types_are_skipped_inline_and_unknown_by_name():
    assert _names("{ __schema { description ... on __Type { name } } }") == {"description": ["description"]}
    with pytest.raises(GraphQLFailure, match="no fragment named F on type __Schema"):
        _names("{ __schema { ...F } } fragment F on __Type { name }")
    with pytest.raises(GraphQLFailure, match="no fragment named G on type __Schema"):
        _names("{ __schema { ...G } }")


def test_skip_and_include_are_obeyed_together():
    text = """query ($yes: Boolean) { __schema {
      a: description @skip(if: true) b: description @include(if: $yes) c: description @include(if: true) @skip(if: $yes)
      ... @include(if: false) { d: description } ...F @skip(if: $yes)
    } } fragment F on __Schema { e: description }"""

    assert list(_names(text, {"yes": True})) == ["b"]
    assert list(_names(text, {"yes": False})) == ["c", "e"]


@pytest.mark.parametrize(
    "told", ["@skip", '@skip(if: "yes")', "@skip(if: null)", "@skip(if: $absent)", "@skip(unless: true)"]
)
def test_a_condition_must_be_a_boolean(told):
    with pytest.raises(GraphQLFailure, match='Value for "if" in @skip directive is required'):
        _names(f"{{ __schema {{ description {told} }} }}")


def test_other_directives_are_unknown():
    with pytest.raises(GraphQLFailure, match="Unknown directive live"):
        _names("{ __schema { description @live } }")


def test_different_fields_cannot_share_a_key():
    with pytest.raises(GraphQLFailure, match="Fields `types` and `directives` are different"):
        _names("{ __schema { a: types { name } a: directives { name } } }")


def test_arguments_must_agree():
    with pytest.raises(GraphQLFailure, match="Two fields named `directives` have different arguments"):
        _names("{ __schema { directives(x: 1) { name } directives(x: 2) { name } } }")


def test_fragments_in_circles_end():
    with pytest.raises(GraphQLFailure, match="Fragment cycle depth is greater than 50"):
        _names("{ __schema { ...F } } fragment F on __Schema { ...F }")
