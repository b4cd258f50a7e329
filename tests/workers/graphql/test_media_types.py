"""The media type that `Accept` chooses, and the status codes that come with it. docs/reference/graphql.md, section 1."""

import json

import pytest

from tests.workers.graphql.graphql_service import GraphQLService
from workers.graphql.errors import RejectedRequest
from workers.graphql.media_types import GRAPHQL_RESPONSE, JSON, wants_graphql_response

ACCEPT = "application/graphql-response+json"


@pytest.mark.parametrize(
    ("accept", "is_wanted"),
    [
        (None, False),
        ("", False),
        ("*/*", False),
        ("application/*", False),
        ("application/json", False),
        (ACCEPT, True),
        ("Application/GraphQL-Response+JSON; charset=utf-8", True),
        (f"{ACCEPT}, application/json;q=0.9", True),
        (f"application/json, {ACCEPT}", True),
        (f"application/json, {ACCEPT};q=0.9", False),
        (f"application/json;q=0.1, {ACCEPT};q=0.25", True),
        (f"application/json;q=1, {ACCEPT};q=0.999", False),
        (f"{ACCEPT};q=0", False),
        (f"{ACCEPT};q=0.000, application/json;q=0", False),
        (f"{ACCEPT};q=much", True),
        ("application/graphql-response+jsonp", False),
    ],
)
def test_the_type_is_chosen_where_accept_names_it_with_no_lower_weight(
    accept: str | None, is_wanted: bool
) -> None:
    assert wants_graphql_response(accept) is is_wanted


@pytest.mark.parametrize(
    ("query", "variables", "message"),
    [
        ("{", {}, "Syntax Error"),
        ("{ nothing }", {}, "Unknown field"),
        ("{ accountByPk(id: 1) { email { x } } }", {}, ""),
        ("query($n: Int!) { accountCollection(first: $n) { edges { cursor } } }", {}, "was not provided"),
        ("{ __typename }", ["a"], "variables must be an object"),
        ("subscription { accountCollection { edges { cursor } } }", {}, "not supported"),
        ("mutation { nothing }", {}, "Unknown field"),
        ("query A { __typename } query B { __typename }", {}, "Operation not found"),
    ],
)
async def test_a_refused_request_has_status_400_and_no_data(
    service: GraphQLService, query: str, variables: object, message: str
) -> None:
    body = {"query": query, "variables": variables}
    refused = await service.send("POST", body, accept=ACCEPT)
    plain = await service.send("POST", body)

    assert (refused.status, refused.headers) == (
        400,
        [("content-type", GRAPHQL_RESPONSE), ("vary", "Accept")],
    )
    assert (plain.status, plain.headers) == (200, [("content-type", JSON)])
    assert message in json.loads(refused.body)["errors"][0]["message"]
    assert {"data": None, **json.loads(refused.body)} == json.loads(plain.body)


@pytest.mark.parametrize(
    "query",
    [
        "{ accountByPk(id: 1) { email } }",
        "{ accountByPk(id: 1) { email } nothing }",
        'mutation { updateAccountCollection(set: {plan: "paid"}, atMost: 1) { affectedCount } }',
        '{ accountCollection(filter: {email: {regex: "("}}) { edges { cursor } } }',
    ],
)
async def test_what_was_executed_has_status_200_and_data(service: GraphQLService, query: str) -> None:
    answer = await service.send("POST", {"query": query}, accept=ACCEPT)
    plain = await service.send("POST", {"query": query})

    assert (answer.status, answer.headers[0][1]) == (200, GRAPHQL_RESPONSE)
    assert answer.body == plain.body
    assert "data" in json.loads(answer.body)


@pytest.mark.parametrize(
    ("method", "body", "query", "status"),
    [
        ("POST", b"{", "", 400),
        ("POST", {"qeury": "{ __typename }"}, "", 400),
        ("GET", None, "query=mutation{__typename}", 405),
    ],
)
async def test_what_is_no_request_keeps_its_status_and_has_no_data(
    service: GraphQLService, method: str, body: object, query: str, status: int
) -> None:
    with pytest.raises(RejectedRequest) as rejected:
        await service.send(method, body, query, accept=ACCEPT)
    with pytest.raises(RejectedRequest) as plain:
        await service.send(method, body, query)

    response = rejected.value.response()
    assert (response.status, response.headers[0]) == (status, ("content-type", GRAPHQL_RESPONSE))
    assert plain.value.response().headers[0] == ("content-type", JSON)
    assert "data" not in json.loads(response.body)
    assert {"data": None, **json.loads(response.body)} == json.loads(plain.value.response().body)


async def test_the_schema_definition_keeps_its_own_type(service: GraphQLService) -> None:
    answer = await service.send("GET", query="sdl", accept=ACCEPT)

    assert answer.headers[0] == ("content-type", "text/plain; charset=utf-8")
