import contextlib
import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.graphql.errors import GraphQLFailure, MalformedRequest
from workers.graphql.parse.body import GraphQLRequest, parse_body, parse_query_string


def test_a_body_gives_document_variables_and_operation() -> None:
    body = {"query": "{a}", "variables": {"x": 1}, "operationName": "b", "extensions": {"any": 1}}

    assert parse_body(json.dumps(body).encode()) == GraphQLRequest("{a}", {"x": 1}, "b")
    assert parse_body(b'{"query":"{a}","variables":null,"operationName":""}') == GraphQLRequest("{a}", {})


def test_variables_must_be_an_object() -> None:
    with pytest.raises(GraphQLFailure, match="variables must be an object"):
        parse_body(b'{"query":"{a}","variables":[]}')


def test_a_query_string_says_the_same() -> None:
    query = urlencode({"query": "{a}", "variables": '{"x":[1]}', "operationName": "b", "apikey": "k"})

    assert parse_query_string(query) == GraphQLRequest("{a}", {"x": [1]}, "b")
    for wrong in ("variables=%7B&query=a", "", "a=1", "&".join(f"a{n}=1" for n in range(99)), "query=%ff"):
        with pytest.raises(MalformedRequest):
            parse_query_string(wrong)


@pytest.mark.parametrize("version", [1, 2])
def test_a_hash_counts_in_the_version_that_is_known(version: int) -> None:
    body = {"query": "{a}", "extensions": {"persistedQuery": {"version": version, "sha256Hash": "AB"}}}

    assert parse_body(json.dumps(body).encode()).hash == ("ab" if version == 1 else None)


@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["query", "variables", "extensions", "operationName"]), inner)
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_body_is_parsed_or_rejected(data: bytes) -> None:
    with contextlib.suppress(MalformedRequest, GraphQLFailure):
        parse_body(data)
