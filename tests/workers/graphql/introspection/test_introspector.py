"""The cache of introspection answers of one schema."""

import json
from dataclasses import replace

import pytest
from graphql import build_schema, get_introspection_query, validate_schema

from tests.workers.graphql.introspection.queries import parse_query
from tests.workers.graphql.library import schema_for
from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.introspector import Introspector


@pytest.fixture
def introspector(snapshot):
    return Introspector(schema_for(snapshot))


def test_answers_are_json(introspector):
    text = introspector.answer_json(*parse_query('{ __type(name: "Loan") { name kind } }'))

    assert json.loads(text) == {"name": "Loan", "kind": "OBJECT"}


def test_an_answer_is_cached_by_its_key(introspector):
    question = parse_query(get_introspection_query())

    assert introspector.answer_json(*question, key="standard") is introspector.answer_json(
        *question, key="standard"
    )
    assert introspector.answer_json(*question) is not introspector.answer_json(*question)


def test_answers_with_variables_are_not_cached(introspector):
    text = "query ($n: String!) { __type(name: $n) { name } }"
    loan = introspector.answer_json(*parse_query(text, {"n": "Loan"}), key="one")
    word = introspector.answer_json(*parse_query(text, {"n": "Word"}), key="one")

    assert (loan, word) == (b'{"name":"Loan"}', b'{"name":"Word"}')


def test_the_oldest_answer_makes_room(introspector):
    question = parse_query("{ __schema { description } }")
    first = introspector.answer_json(*question, key=0)
    for key in range(1, 5):
        introspector.answer_json(*question, key=key)

    assert introspector.answer_json(*question, key=4) is introspector.answer_json(*question, key=4)
    assert introspector.answer_json(*question, key=0) is not first


def test_introspection_that_is_off_knows_no_such_fields(snapshot):
    introspector = Introspector(replace(schema_for(snapshot), has_introspection=False))

    for text, name in (
        ("{ __schema { description } }", "__schema"),
        ('{ a: __type(name: "X") { name } }', "__type"),
    ):
        with pytest.raises(GraphQLFailure, match=f'Unknown field "{name}" on type Query'):
            introspector.answer_json(*parse_query(text))


def test_the_schema_is_valid_and_can_be_printed(introspector):
    schema = introspector.graphql_schema()
    text = introspector.sdl()

    assert validate_schema(schema) == []
    assert "type Writer implements Node {" in text
    assert "\n  writerCollection(\n" in text
    assert build_schema(text).query_type.fields.keys() == schema.query_type.fields.keys()
