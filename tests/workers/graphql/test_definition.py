"""The SDL of a schema, and validation of documents by the whole specification."""

import pytest
from graphql import build_schema

from tests.workers.graphql.graphql_service import GraphQLService, member


async def test_a_get_gives_the_schema_in_the_definition_language(shop: GraphQLService) -> None:
    answer = await shop.send("GET", query="sdl")

    assert answer.status == 200
    assert dict(answer.headers)["content-type"] == "text/plain; charset=utf-8"
    schema = build_schema(answer.body.decode())
    assert schema.query_type is not None
    assert {"saleCollection", "customerByPk", "node"} <= set(schema.query_type.fields)


async def test_the_definition_is_that_of_the_caller(shop: GraphQLService) -> None:
    whole = await shop.send("GET", query="sdl")
    own = await shop.send("GET", query="sdl=", caller=member("ada"))

    filters = [build_schema(each.body.decode()).type_map["LineFilter"] for each in (whole, own)]
    assert ["item" in each.fields for each in filters] == [True, False]  # type: ignore[union-attr]  # input objects


async def test_without_introspection_there_is_no_definition(shop: GraphQLService) -> None:
    service = GraphQLService.make(shop.pool, introspection=False)

    with pytest.raises(Exception, match="Introspection is switched off"):
        await service.send("GET", query="sdl")


ADDITIONS = """query($filter: CustomerFilter) { customerCollection(filter: $filter, orderBy: [{sales: {count: DescNullsLast}}]) {
  edges { node { email sales { groups(groupBy: [state], having: {sum: {total: {gt: 1}}}) { key { state } sum { total } } } } } } }"""
INSERT = """mutation($objects: [CustomerInsertInput!]!) { insertIntoCustomerCollection(objects: $objects) { affectedCount } }"""


@pytest.mark.parametrize("additions", [True, False])
async def test_strict_documents_may_use_all_that_works(shop: GraphQLService, additions: bool) -> None:
    service = GraphQLService.make(shop.pool, strict=True, additions=additions)

    await service.data(ADDITIONS, {"filter": {"sales": {"some": {}}}})
    await service.data(
        'mutation { insertIntoCustomerCollection(objects: [{email: "ada@x.com"}], onConflict: {constraint: one_email}) { affectedCount } }'
    )


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("{ customerCollection { edges { node { emial } } } }", ["Cannot query field 'emial' on type 'Customer'. Did you mean 'email'?"]),
        ("query($unused: Int) { customerCollection { edges { cursor } } }", ["Variable '$unused' is never used."]),
        (
            'query($n: String) { customerCollection(first: $n, filter: {id: {eq: "1"}}) { edges { cursor } } }',
            ['Int cannot represent non-integer value: "1"', "Variable '$n' of type 'String' used in position expecting type 'Int'."],
        ),
    ],
)  # fmt: skip
async def test_strict_documents_keep_all_rules_of_the_specification(
    shop: GraphQLService, query: str, messages: list[str]
) -> None:
    answer = await GraphQLService.make(shop.pool, strict=True).ask(query)

    assert answer["data"] is None
    assert sorted(error["message"] for error in answer["errors"]) == sorted(messages)
    assert answer["errors"][0]["extensions"] == {"code": "GRAPHQL_VALIDATION_FAILED"}
