"""Introspection shows our additions to the original only if a schema or the settings enable it, and then all of them."""

from collections.abc import Iterator

import pytest
from graphql import build_schema, get_introspection_query, parse, validate

from tests.workers.graphql.graphql_service import GraphQLService

QUESTION = (
    "{ __schema { types { name fields { name args { name } } inputFields { name } enumValues { name } } } }"
)


def words(data: dict) -> Iterator[str]:
    for one in data["__schema"]["types"]:
        yield one["name"]
        for kind in ("fields", "inputFields", "enumValues"):
            for member in one[kind] or ():
                yield f"{one['name']}.{member['name']}"
                for arg in member.get("args") or ():
                    yield f"{one['name']}.{member['name']}({arg['name']})"


@pytest.mark.parametrize(
    "word",
    [
        "CustomerFilter.sales", "SaleManyFilter.some", "SaleFilter.customer", "CustomerOrderBy.sales", "SaleOrderBy.customer",
        "SaleManyOrderBy.count", "SaleManyOrderBy.sum", "SaleSumOrderBy.total", "SaleMaxOrderBy.isGift", "CustomerInsertInput.sales",
        "SaleInsertInput.customer", "Mutation.insertIntoCustomerCollection(onConflict)", "CustomerConstraint.one_email",
        "CustomerOnConflict.updateColumns", "CustomerUpdateColumn.visits", "SaleConnection.groups(groupBy)", "SaleGroup.key",
        "SaleGroupKey.state", "SaleGroupColumn.state", "SaleGroupHaving.sum", "SaleGroupOrderBy.key", "SaleSumHaving.total",
    ],
)  # fmt: skip
async def test_additions_are_shown_if_the_schema_enables_them(shop: GraphQLService, word: str) -> None:
    assert word in set(words(await shop.data(QUESTION)))


async def test_groups_are_shown_only_for_tables_with_aggregates(shop: GraphQLService) -> None:
    found = set(words(await shop.data(QUESTION)))

    assert "CustomerConnection.groups" not in found
    assert "CustomerGroup" not in found


async def test_the_types_with_additions_are_a_valid_schema_for_documents_that_use_them(
    shop: GraphQLService,
) -> None:
    definition = (await shop.send("GET", query="sdl")).body.decode()
    schema = build_schema(definition)
    document = parse(
        """
      mutation { insertIntoCustomerCollection(objects: [{email: "x", address: {street: "y"}, sales: [{total: "1", lineCollection: []}]}]) {
        affectedCount } insertIntoAddressCollection(objects: [{customerId: 1, street: "z"}],
          onConflict: {constraint: address_pkey, updateColumns: [street], filter: {customer: {city: {eq: "Rome"}}}}) { affectedCount } }
      query A { saleCollection(filter: {customer: {sales: {every: {total: {gt: "1"}}}}}, orderBy: [{customer: {sales: {avg: {total: AscNullsLast}}}}]) {
        groups(groupBy: [state, isGift], having: {count: {gt: 1}}, orderBy: [{max: {at: AscNullsLast}}], first: 3) {
          key { state isGift } count min { at } } } }
    """.replace("mutation {", "mutation B {")
    )

    assert validate(schema, document) == []


async def test_the_standard_question_is_answered_with_additions(shop: GraphQLService) -> None:
    data = await shop.data(get_introspection_query())

    assert data["__schema"]["queryType"]["name"] == "Query"


async def test_additions_are_not_shown_by_default(service: GraphQLService) -> None:
    found = set(words(await service.data(QUESTION)))

    assert "BlogFilter.name" in found
    assert not {"BlogFilter.owner", "BlogManyFilter", "AccountConnection.groups", "BlogOnConflict"} & found
    assert "Mutation.insertIntoBlogCollection(onConflict)" not in found


async def test_a_setting_tells_of_additions_where_schemas_say_nothing(service: GraphQLService) -> None:
    found = set(words(await GraphQLService.make(service.pool, additions=True).data(QUESTION)))

    assert {"BlogFilter.owner", "BlogManyFilter", "AccountConnection.groups", "BlogOnConflict"} <= found
