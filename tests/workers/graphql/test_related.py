"""Filters, orders and groups that we add to the original, on a real database: docs/graphql.md."""

import base64

import pytest

from tests.workers.graphql.graphql_service import GraphQLService, member


def emails(data: dict) -> list[str]:
    return [edge["node"]["email"] for edge in data["customerCollection"]["edges"]]


# --- filters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('sales: {some: {total: {gt: "20"}}}', ["ada", "cleo"]),
        ('sales: {none: {total: {gt: "20"}}}', ["bob", "dan"]),
        ('sales: {every: {total: {gt: "20"}}}', ["cleo", "dan"]),
        ("sales: {some: {}}", ["ada", "bob", "cleo"]),
        ("sales: {none: {}}", ["dan"]),
        ("sales: {every: {}}", ["ada", "bob", "cleo", "dan"]),
        ("sales: {}", ["ada", "bob", "cleo", "dan"]),
        ("sales: null", ["ada", "bob", "cleo", "dan"]),
        ("sales: {some: {state: {eq: PAID_UP}}, every: {isGift: {eq: true}}}", ["cleo"]),
        ('sales: {some: {lineCollection: {some: {item: {eq: "rug"}}}}}', ["ada", "cleo"]),
        ('sales: {some: {customer: {email: {eq: "bob@x.com"}}}}', ["bob"]),
        ('address: {street: {startsWith: "Via"}}', ["ada"]),
        ("not: {address: {customerId: {is: NOT_NULL}}}", ["cleo", "dan"]),
        ('or: [{address: {street: {startsWith: "Karl"}}}, {city: {is: NULL}}]', ["bob", "dan"]),
    ],
)
async def test_rows_are_filtered_by_related_rows(
    shop: GraphQLService, condition: str, found: list[str]
) -> None:
    data = await shop.data(
        "{ customerCollection(filter: {$}) { edges { node { email } } } }".replace("$", condition)
    )

    assert emails(data) == [f"{name}@x.com" for name in found]


async def test_a_filter_by_related_rows_may_be_a_variable(shop: GraphQLService) -> None:
    query = "query($f: CustomerFilter) { customerCollection(filter: $f) { edges { node { email } } } }"

    for total, found in (("20", ["ada@x.com", "cleo@x.com"]), ("50", ["cleo@x.com"])):
        data = await shop.data(query, {"f": {"sales": {"some": {"total": {"gt": total}}}}})
        assert emails(data) == found


async def test_a_to_one_filter_holds_for_counts_and_changes(shop: GraphQLService) -> None:
    data = await shop.data('{ saleCollection(filter: {customer: {city: {eq: "Rome"}}}) { totalCount } }')
    changed = await shop.data(
        'mutation { updateSaleCollection(set: {isGift: false}, filter: {customer: {city: {eq: "Oslo"}}}) { affectedCount } }'
    )

    assert data["saleCollection"]["totalCount"] == 3
    assert changed["updateSaleCollection"]["affectedCount"] == 1


async def test_policies_hold_for_the_rows_that_a_filter_reaches(shop: GraphQLService) -> None:
    query = "{ customerCollection(filter: {secretSaleCollection: {some: {}}}) { edges { node { email } } } }"

    assert emails(await shop.data(query, caller=member("ada"))) == ["ada@x.com"]
    assert emails(await shop.data(query, caller=member("bob"))) == ["bob@x.com"]


async def test_columns_that_a_role_may_not_see_are_no_filter(shop: GraphQLService) -> None:
    query = '{ saleCollection(filter: {lineCollection: {some: {item: {eq: "rug"}}}}) { totalCount } }'

    answer = await shop.ask(query, caller=member("ada"))

    assert [error["message"] for error in answer["errors"]] == [
        'Input for type LineFilter contains extra keys ["item"]'
    ]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("sales: {any: {}}", 'Input for type SaleManyFilter contains extra keys ["any"]'),
        ("sales: 1", "Invalid input for SaleManyFilter type"),
        ("sales: {some: 1}", "Invalid input for SaleFilter type"),
        ("address: {none: {}}", 'Input for type AddressFilter contains extra keys ["none"]'),
        (
            "sales: {some: {customer: {" * 6 + "}}}" * 6,
            "A filter or order reaches at most 10 relations far",
        ),
    ],
)
async def test_invalid_filters_are_rejected(shop: GraphQLService, condition: str, message: str) -> None:
    query = "{ customerCollection(filter: {$}) { edges { cursor } } }"

    assert await shop.messages(query.replace("$", condition)) == [message]


# --- order ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "order", "found"),
    [
        ("sale", "{customer: {email: DescNullsLast}}", [4, 3, 1, 2]),
        ("sale", "[{customer: {city: AscNullsLast}}, {total: AscNullsLast}]", [3, 1, 2, 4]),
        ("sale", "{customer: {address: {street: AscNullsFirst}}}", [4, 3, 1, 2]),
        ("sale", "{customer: {sales: {count: DescNullsLast}}}", [1, 2, 3, 4]),
        ("customer", "{sales: {count: DescNullsLast}}", [1, 2, 3, 4]),
        ("customer", "{sales: {sum: {total: DescNullsLast}}}", [3, 1, 2, 4]),
        ("customer", "{sales: {max: {total: AscNullsFirst}}}", [4, 2, 1, 3]),
        ("customer", "{sales: {max: {isGift: AscNullsLast}}}", [2, 1, 3, 4]),
        ("customer", "{sales: {avg: {total: DescNullsLast}, count: AscNullsLast}}", [3, 1, 2, 4]),
        ("customer", "{address: {street: DescNullsLast}}", [1, 2, 3, 4]),
    ],
)
async def test_rows_are_ordered_by_related_rows_on_every_page(
    shop: GraphQLService, field: str, order: str, found: list[int]
) -> None:
    def query(arguments: str) -> str:
        page = "edges { node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
        return f"{{ {field}Collection(orderBy: {order}, {arguments}) {{ {page} }} }}"

    forward: list[int] = []
    cursor, more = "", True
    while more:
        data = await shop.data(query("first: 1" + (f', after: "{cursor}"' if cursor else "")))
        page = data[f"{field}Collection"]
        forward += [edge["node"]["id"] for edge in page["edges"]]
        cursor, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
        assert page["pageInfo"]["hasPreviousPage"] is (len(forward) > 1)
    backward = (await shop.data(query(f'last: 3, before: "{cursor}"')))[f"{field}Collection"]
    whole = (await shop.data(query("first: 9")))[f"{field}Collection"]

    assert [edge["node"]["id"] for edge in whole["edges"]] == found
    assert forward == found
    assert [edge["node"]["id"] for edge in backward["edges"]] == found[:-1]


async def test_a_cursor_holds_the_related_value(shop: GraphQLService) -> None:
    data = await shop.data(
        "{ customerCollection(first: 1, orderBy: {sales: {count: DescNullsLast}}) { edges { cursor } } }"
    )

    assert base64.b64decode(data["customerCollection"]["edges"][0]["cursor"]) == b"[2, 1]"


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("{sales: {email: AscNullsLast}}", 'Input for type SaleManyOrderBy contains extra keys ["email"]'),
        ("{sales: {sum: {state: AscNullsLast}}}", 'Input for type SaleSum contains extra keys ["state"]'),
        ("{sales: {count: Up}}", "Invalid input for OrderByDirection type"),
        (
            "{address: {nothing: AscNullsLast}}",
            'Input for type AddressOrderBy contains extra keys ["nothing"]',
        ),
    ],
)
async def test_invalid_orders_are_rejected(shop: GraphQLService, order: str, message: str) -> None:
    assert await shop.messages(
        "{ customerCollection(orderBy: $) { edges { cursor } } }".replace("$", order)
    ) == [message]


# --- groups --------------------------------------------------------------------------------------------------


async def test_rows_are_grouped_with_figures_over_each_group(shop: GraphQLService) -> None:
    query = """{ saleCollection { groups(groupBy: [state], orderBy: {sum: {total: DescNullsLast}}) {
      __typename key { __typename state } count sum { total } avg { total } min { total at } max { isGift } } } }"""

    data = await shop.data(query)

    at = "2026-01-05T10:00:00+00:00"
    assert data["saleCollection"]["groups"] == [
        {"__typename": "SaleGroup", "key": {"__typename": "SaleGroupKey", "state": "PAID_UP"}, "count": 2,
         "sum": {"total": 130}, "avg": {"total": 65}, "min": {"total": 30, "at": at}, "max": {"isGift": True}},
        {"__typename": "SaleGroup", "key": {"__typename": "SaleGroupKey", "state": "open"}, "count": 2,
         "sum": {"total": 15}, "avg": {"total": 7.5}, "min": {"total": 5, "at": at}, "max": {"isGift": True}},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("groupBy: [customerId]", [1, 2, 3]),
        ("groupBy: customerId, first: 1", [1]),
        ("groupBy: [customerId], first: 1, offset: 1", [2]),
        ("groupBy: [customerId], first: 0", []),
        ("groupBy: [customerId], having: {count: {gt: 1}}", [1]),
        ("groupBy: [customerId], having: {sum: {total: {gte: 40}}}", [1, 3]),
        ("groupBy: [customerId], having: {sum: {total: {lt: 6.5}}, count: {in: [1]}}", [2]),
        ("groupBy: [customerId], having: {max: {isGift: {eq: true}}}", [1, 3]),
        ('groupBy: [customerId], having: {min: {total: {eq: "10"}}}', [1]),
        (
            "groupBy: [customerId], orderBy: [{count: DescNullsLast}, {key: {customerId: DescNullsLast}}]",
            [1, 3, 2],
        ),
        ("groupBy: [customerId, customerId], orderBy: {avg: {total: AscNullsLast}}", [2, 1, 3]),
    ],
)
async def test_groups_are_chosen_and_ordered(shop: GraphQLService, arguments: str, found: list[int]) -> None:
    data = await shop.data("{ saleCollection { groups($) { key { customerId } } } }".replace("$", arguments))

    assert [group["key"]["customerId"] for group in data["saleCollection"]["groups"]] == found


async def test_groups_follow_the_filter_and_the_row_they_lie_in_but_not_the_page(
    shop: GraphQLService,
) -> None:
    query = """{ customerCollection(first: 2) { edges { node { sales(first: 1, filter: {isGift: {eq: false}}) {
      edges { node { id } } groups(groupBy: [state]) { key { state } count } } } } } }"""

    data = await shop.data(query)

    sales = [edge["node"]["sales"] for edge in data["customerCollection"]["edges"]]
    assert [one["groups"] for one in sales] == [
        [{"key": {"state": "PAID_UP"}, "count": 1}],
        [{"key": {"state": "open"}, "count": 1}],
    ]


async def test_what_is_grouped_by_may_be_a_variable(shop: GraphQLService) -> None:
    query = """query($by: [SaleGroupColumn!]!, $least: Int) { saleCollection {
      groups(groupBy: $by, having: {count: {gte: $least}}) { count } } }"""

    for by, least, count in ((["state"], 1, 2), (["state", "isGift"], 1, 4), (["customerId"], 2, 1)):
        data = await shop.data(query, {"by": by, "least": least})
        assert len(data["saleCollection"]["groups"]) == count


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("groups(groupBy: []) { count }", "groupBy must name at least one column"),
        ("groups { count }", "Invalid input for NonNull type"),
        ("groups(groupBy: [nothing]) { count }", "Invalid input for SaleGroupColumn type"),
        ("groups(groupBy: [state]) { key { total } }", '"total" is not among the columns of groupBy'),
        (
            "groups(groupBy: [state], orderBy: {key: {total: AscNullsLast}}) { count }",
            '"total" is not among the columns of groupBy',
        ),
        (
            "groups(groupBy: [state], having: {total: {eq: 1}}) { count }",
            'Input for type SaleGroupHaving contains extra keys ["total"]',
        ),
        ("groups(groupBy: [state], having: {count: 1}) { count }", "Invalid input for IntFilter type"),
        ("groups(groupBy: [state], first: -1) { count }", "`first` must be an unsigned integer"),
        ("groups(groupBy: [state]) { nothing }", 'Unknown field "nothing" on type SaleGroup'),
        ("groups(groupBy: [state], last: 1) { count }", 'Input contains extra keys ["last"]'),
    ],
)
async def test_invalid_groups_are_rejected(shop: GraphQLService, field: str, message: str) -> None:
    assert await shop.messages("{ saleCollection { $ } }".replace("$", field)) == [message]


async def test_groups_belong_to_tables_whose_aggregates_are_enabled(shop: GraphQLService) -> None:
    query = "{ customerCollection { groups(groupBy: [city]) { count } } }"

    assert await shop.messages(query) == ["enable the aggregate directive to use aggregates"]
