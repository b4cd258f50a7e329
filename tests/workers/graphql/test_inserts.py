"""Upserts and nested inserts on a real database: docs/graphql.md."""

import pytest

from tests.workers.graphql.graphql_service import GraphQLService, member

# --- upserts -------------------------------------------------------------------------------------------------

UPSERT = """mutation($objects: [CustomerInsertInput!]!, $on: CustomerOnConflict) {
  insertIntoCustomerCollection(objects: $objects, onConflict: $on) { affectedCount records { email city visits } } }"""


async def test_an_upsert_updates_what_is_there_and_inserts_the_rest(fresh_shop: GraphQLService) -> None:
    objects = [
        {"email": "ada@x.com", "city": "Bari", "visits": 3},
        {"email": "eve@x.com", "city": "Kiel", "visits": 1},
    ]

    data = await fresh_shop.data(
        UPSERT, {"objects": objects, "on": {"constraint": "one_email", "updateColumns": ["visits"]}}
    )

    assert data["insertIntoCustomerCollection"] == {
        "affectedCount": 2,
        "records": [
            {"email": "ada@x.com", "city": "Rome", "visits": 3},
            {"email": "eve@x.com", "city": "Kiel", "visits": 1},
        ],
    }


async def test_without_columns_rows_that_are_there_are_passed_over(fresh_shop: GraphQLService) -> None:
    data = await fresh_shop.data("""mutation { insertIntoCustomerCollection(
      objects: [{email: "ada@x.com"}, {email: "eve@x.com", city: "Kiel"}], onConflict: {constraint: one_email}
    ) { affectedCount records { email } } }""")

    assert data["insertIntoCustomerCollection"] == {"affectedCount": 1, "records": [{"email": "eve@x.com"}]}


@pytest.mark.parametrize(
    ("condition", "count"),
    [("visits: {lt: 1}", 1), ("visits: {gt: 1}", 0), ('address: {street: {like: "Via%"}}', 1)],
)
async def test_a_filter_chooses_the_old_rows_that_are_updated(
    fresh_shop: GraphQLService, condition: str, count: int
) -> None:
    data = await fresh_shop.data(
        """mutation { insertIntoCustomerCollection(objects: {email: "ada@x.com", visits: 9},
      onConflict: {constraint: one_email, updateColumns: visits, filter: {$}}) { affectedCount } }""".replace(
            "$", condition
        )
    )

    assert data["insertIntoCustomerCollection"]["affectedCount"] == count


@pytest.mark.parametrize(
    ("on", "message"),
    [
        (
            {"constraint": "nothing"},
            'onConflict: Customer has no such unique constraint, it has "customer_pkey", "one_email"',
        ),
        ({}, "Invalid input for NonNull type"),
        (
            {"constraint": "one_email", "updateColumns": ["nothing"]},
            "Invalid input for CustomerUpdateColumn type",
        ),
        (
            {"constraint": "one_email", "updateColumns": ["id"]},
            'onConflict: "id" of Customer may not be updated',
        ),
        (
            {"constraint": "one_email", "filter": {"visits": {"gt": 1}}},
            "onConflict: a filter needs updateColumns, else nothing is changed anyway",
        ),
        (
            {"constraint": "one_email", "columns": []},
            'Input for type CustomerOnConflict contains extra keys ["columns"]',
        ),
        (7, "Invalid input for CustomerOnConflict type"),
    ],
)
async def test_invalid_conflict_clauses_are_rejected(shop: GraphQLService, on: object, message: str) -> None:
    assert await shop.messages(UPSERT, {"objects": [{"email": "x"}], "on": on}) == [message]


async def test_an_upsert_changes_only_columns_that_the_role_may_update(fresh_shop: GraphQLService) -> None:
    def variables(column: str) -> dict[str, object]:
        on = {"constraint": "one_email", "updateColumns": [column]}
        return {"objects": [{"email": "ada@x.com", "visits": 5, "city": "Bari"}], "on": on}

    allowed = await fresh_shop.ask(UPSERT, variables("visits"), caller=member("ada"))
    refused = await fresh_shop.ask(UPSERT, variables("city"), caller=member("ada"))

    assert allowed["data"]["insertIntoCustomerCollection"]["records"][0]["visits"] == 5
    assert refused["errors"][0]["message"] == 'onConflict: "city" of Customer may not be updated'


# --- nested inserts ------------------------------------------------------------------------------------------


async def test_rows_are_inserted_with_those_that_refer_to_them_and_the_answer_shows_them(
    fresh_shop: GraphQLService,
) -> None:
    data = await fresh_shop.data("""mutation { insertIntoCustomerCollection(objects: [
      {email: "eve@x.com", address: {street: "Alm"}, sales: [
        {total: "7", lineCollection: [{number: 1, item: "cup"}, {number: 2, item: "jug"}]}, {total: "8", isGift: true}]},
      {email: "fay@x.com", city: "Graz", sales: {total: "9"}},
      {email: "gus@x.com", sales: []}
    ]) { affectedCount records { email address { street } sales {
      edges { node { total isGift lineCollection { edges { node { item } } } } } } } } }""")

    result = data["insertIntoCustomerCollection"]
    assert result["affectedCount"] == 3
    sales = [[edge["node"] for edge in record["sales"]["edges"]] for record in result["records"]]
    assert [record["email"] for record in result["records"]] == ["eve@x.com", "fay@x.com", "gus@x.com"]
    assert [record["address"] for record in result["records"]] == [{"street": "Alm"}, None, None]
    assert [[(sale["total"], sale["isGift"]) for sale in each] for each in sales] == [
        [("7", None), ("8", True)],
        [("9", None)],
        [],
    ]
    assert [edge["node"]["item"] for edge in sales[0][0]["lineCollection"]["edges"]] == ["cup", "jug"]


async def test_rows_are_inserted_with_those_they_refer_to(fresh_shop: GraphQLService) -> None:
    objects = [
        {
            "total": "1",
            "customer": {"email": "eve@x.com", "address": {"street": "Alm"}},
            "lineCollection": [{"number": 1, "item": "cup"}],
        },
        {"total": "2", "customerId": 1},
        {"total": "3", "customer": {"email": "fay@x.com"}},
    ]
    query = """mutation($objects: [SaleInsertInput!]!) { insertIntoSaleCollection(objects: $objects) {
      affectedCount records { total customer { email address { street } } lineCollection { edges { node { item } } } } } }"""

    data = await fresh_shop.data(query, {"objects": objects})

    records = data["insertIntoSaleCollection"]["records"]
    assert data["insertIntoSaleCollection"]["affectedCount"] == 3
    assert [(one["total"], one["customer"]["email"]) for one in records] == [
        ("1", "eve@x.com"),
        ("2", "ada@x.com"),
        ("3", "fay@x.com"),
    ]
    assert records[0]["customer"]["address"] == {"street": "Alm"}
    assert len(records[0]["lineCollection"]["edges"]) == 1


async def test_a_plan_of_a_nested_insert_serves_other_values_and_numbers(fresh_shop: GraphQLService) -> None:
    query = """mutation($objects: [CustomerInsertInput!]!) { insertIntoCustomerCollection(objects: $objects) {
      records { email sales { edges { node { total } } } } } }"""

    for name, totals in (("a", ["1"]), ("b", ["2"]), ("c", ["3", "4"]), ("d", [])):
        given = {"email": name, "sales": [{"total": total} for total in totals]}
        record = (await fresh_shop.data(query, {"objects": [given]}))["insertIntoCustomerCollection"][
            "records"
        ][0]
        assert (record["email"], [edge["node"]["total"] for edge in record["sales"]["edges"]]) == (
            name,
            totals,
        )


async def test_policies_see_the_rows_that_were_inserted_before(fresh_shop: GraphQLService) -> None:
    query = """mutation($owner: String) { insertIntoAccountCollection(objects: {owner: $owner, postCollection: [{title: "x"}]}) {
      affectedCount records { owner postCollection { edges { node { title } } } } } }"""

    own = await fresh_shop.ask(query, {"owner": "ada"}, caller=member("ada"))
    other = await fresh_shop.ask(query, {"owner": "bob"}, caller=member("ada"))

    assert own["data"]["insertIntoAccountCollection"]["records"][0]["postCollection"]["edges"] == [
        {"node": {"title": "x"}}
    ]
    assert other["errors"][0]["message"] == 'new row violates row-level security policy for table "account"'


async def test_a_policy_refuses_a_related_row_and_then_nothing_is_inserted(
    fresh_shop: GraphQLService,
) -> None:
    query = 'mutation { insertIntoPostCollection(objects: [{title: "x", account: {owner: "ada"}}, {title: "y", accountId: 1}]) { affectedCount } }'

    answer = await fresh_shop.ask(query, caller=member("ada"))
    left = await fresh_shop.data("{ accountCollection { edges { node { owner } } } }")

    assert answer["errors"][0]["message"] == 'new row violates row-level security policy for table "post"'
    assert len(left["accountCollection"]["edges"]) == 1


async def test_a_trigger_that_keeps_back_rows_stops_a_nested_insert(fresh_shop: GraphQLService) -> None:
    query = "mutation($name: String) { insertIntoFickleCollection(objects: {name: $name, followerCollection: [{}]}) { affectedCount } }"

    kept = await fresh_shop.data(query, {"name": "here"})

    assert kept["insertIntoFickleCollection"]["affectedCount"] == 1
    assert await fresh_shop.messages(query, {"name": "gone"}) == [
        "a trigger or rule kept back rows that others refer to"
    ]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ('Sale(objects: {total: "1", customerId: 1, customer: {email: "x"}})', '"customer_id" of Sale is set more than once: by a value, a parent or a related object'),
        ('Customer(objects: {email: "x", sales: {total: "1", customerId: 1}})', '"customer_id" of Sale is set more than once: by a value, a parent or a related object'),
        ('Customer(objects: {email: "x", sales: {total: "1", customer: {email: "y"}}})', '"customer_id" of Sale is set more than once: by a value, a parent or a related object'),
        ('Sale(objects: {total: "1", customer: [{email: "x"}, {email: "y"}]})', '"customer" is one object, not a list of several'),
        ('Customer(objects: {email: "x", address: [{street: "x"}, {street: "y"}]})', '"address" is one object, not a list of several'),
        ('Customer(objects: {email: "x", sales: 1})', "Invalid input for SaleInsertInput type"),
        ('Customer(objects: {email: "x", sales: {nothing: 1}})', 'Input for type SaleInsertInput contains extra keys ["nothing"]'),
        ('Customer(objects: {email: "x", sales: {total: "1"}}, onConflict: {constraint: one_email})', "onConflict and related objects cannot be given together"),
        ("Customer(objects: {email: \"x\", " + "sales: {total: \"1\", customer: {email: \"y\", " * 6 + "}}" * 6 + "})", "At most 10 relations inside one another can be inserted"),
    ],
)  # fmt: skip
async def test_invalid_nested_inserts_are_rejected(shop: GraphQLService, field: str, message: str) -> None:
    assert await shop.messages(
        "mutation { insertInto$ { affectedCount } }".replace("$", field.replace("(", "Collection(", 1))
    ) == [message]


async def test_several_nested_inserts_of_one_mutation_are_one_transaction(fresh_shop: GraphQLService) -> None:
    query = """mutation {
      a: insertIntoCustomerCollection(objects: {email: "eve@x.com", sales: {total: "1"}}) { records { id } }
      b: updateCustomerCollection(set: {visits: 3}, filter: {email: {eq: "eve@x.com"}}) { affectedCount }
      c: insertIntoSaleCollection(objects: {total: "$", customer: {email: "fay@x.com"}}) { records { customer { email } } }
    }"""

    data = await fresh_shop.data(query.replace("$", "2"))

    assert data["b"] == {"affectedCount": 1}
    assert data["c"]["records"] == [{"customer": {"email": "fay@x.com"}}]
    assert await fresh_shop.messages(
        query.replace("eve", "hal").replace("fay", "ian").replace("$", "nothing")
    ) == ['invalid input syntax for type numeric: "nothing"']
    found = await fresh_shop.data(
        '{ customerCollection(filter: {email: {startsWith: "hal"}}) { edges { cursor } } }'
    )
    assert found["customerCollection"]["edges"] == []
