"""What the original has not is told only where a schema or the settings ask for it, and then as a whole."""

from collections.abc import Iterator

import pytest
from graphql import build_schema, get_introspection_query, parse, validate

from tests.workers.graphql.house import House

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
async def test_additions_are_told_where_the_schema_asks_for_it(shop: House, word: str) -> None:
    assert word in set(words(await shop.data(QUESTION)))


async def test_groups_are_told_only_of_tables_with_aggregates(shop: House) -> None:
    found = set(words(await shop.data(QUESTION)))

    assert "CustomerConnection.groups" not in found
    assert "CustomerGroup" not in found


async def test_the_types_with_additions_are_a_valid_schema_for_documents_that_use_them(shop: House) -> None:
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


async def test_the_standard_question_is_answered_with_additions(shop: House) -> None:
    data = await shop.data(get_introspection_query())

    assert data["__schema"]["queryType"]["name"] == "Query"


async def test_additions_are_not_told_by_default(house: House) -> None:
    found = set(words(await house.data(QUESTION)))

    assert "BlogFilter.name" in found
    assert not {"BlogFilter.owner", "BlogManyFilter", "AccountConnection.groups", "BlogOnConflict"} & found
    assert "Mutation.insertIntoBlogCollection(onConflict)" not in found


async def test_a_setting_tells_of_additions_where_schemas_say_nothing(house: House) -> None:
    found = set(words(await House.make(house.pool, additions=True).data(QUESTION)))

    assert {"BlogFilter.owner", "BlogManyFilter", "AccountConnection.groups", "BlogOnConflict"} <= found
