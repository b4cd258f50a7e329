import contextlib
import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.graphql.errors import BadRequest, GraphQLFailure
from workers.graphql.parse.body import Asked, asked_in_body, asked_in_url


def test_a_body_gives_document_variables_and_operation() -> None:
    body = {"query": "{a}", "variables": {"x": 1}, "operationName": "b", "extensions": {"any": 1}}

    assert asked_in_body(json.dumps(body).encode()) == Asked("{a}", {"x": 1}, "b")
    assert asked_in_body(b'{"query":"{a}","variables":null,"operationName":""}') == Asked("{a}", {})


def test_variables_must_be_an_object() -> None:
    with pytest.raises(GraphQLFailure, match="variables must be an object"):
        asked_in_body(b'{"query":"{a}","variables":[]}')


def test_a_query_string_says_the_same() -> None:
    query = urlencode({"query": "{a}", "variables": '{"x":[1]}', "operationName": "b", "apikey": "k"})

    assert asked_in_url(query) == Asked("{a}", {"x": [1]}, "b")
    for wrong in ("variables=%7B&query=a", "", "a=1", "&".join(f"a{n}=1" for n in range(99)), "query=%ff"):
        with pytest.raises(BadRequest):
            asked_in_url(wrong)


@pytest.mark.parametrize("version", [1, 2])
def test_a_hash_counts_in_the_version_that_is_known(version: int) -> None:
    body = {"query": "{a}", "extensions": {"persistedQuery": {"version": version, "sha256Hash": "AB"}}}

    assert asked_in_body(json.dumps(body).encode()).hash == ("ab" if version == 1 else None)


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
def test_any_body_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(BadRequest, GraphQLFailure):
        asked_in_body(data)
