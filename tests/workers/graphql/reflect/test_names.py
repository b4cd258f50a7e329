"""Names in GraphQL for names in the database."""

import pytest

from workers.graphql.reflect import names


@pytest.mark.parametrize(
    ("sql", "inflected"),
    [
        ("book_copy", "BookCopy"),
        ("account_BY_email", "AccountBYEmail"),
        ("_hidden", "Hidden"),
        ("two__lines", "TwoLines"),
        ("v2_table", "V2Table"),
        ("BookCopy", "BookCopy"),
        ("a-b", "A-B"),
    ],
)
def test_type_names_join_their_words(sql, inflected):
    assert names.type_name(sql, inflect=True) == inflected
    assert names.type_name(sql, inflect=False) == sql


def test_field_names_begin_in_lower_case_only_where_inflected():
    assert names.field_name("created_at", inflect=True) == "createdAt"
    assert names.field_name("Created_at", inflect=False) == "Created_at"


def test_functions_lose_one_leading_underscore():
    assert names.function_name("_full_name", inflect=True) == "fullName"
    assert names.function_name("__full_name", inflect=False) == "_full_name"
    assert names.function_name("FullName", inflect=False) == "fullName"


def test_arguments_begin_in_lower_case():
    assert names.argument_name("UserId", inflect=False) == "userId"
    assert names.argument_name("user_id", inflect=True) == "userId"


@pytest.mark.parametrize(
    ("columns", "inflect", "name"),
    [
        (("owner_id",), True, "owner"),
        (("ownerId",), True, None),
        (("ownerId",), False, "owner"),
        (("owner_id",), False, None),
        (("main_owner_id",), True, "mainOwner"),
        (("owner",), True, None),
        (("_id",), True, None),
        (("Id",), False, None),
        (("owner_id", "other_id"), True, None),
    ],
)
def test_a_key_of_one_column_lends_its_name(columns, inflect, name):
    assert names.relation_name(columns, inflect=inflect) == name


def test_names_that_graphql_cannot_spell_are_not_valid():
    assert names.is_valid("_a1")
    assert names.is_valid("__typename")
    assert not any(map(names.is_valid, ("", "1a", "a b", "a-b", "ä", "a\n")))
