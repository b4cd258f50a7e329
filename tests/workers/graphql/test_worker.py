"""Whole requests to a worker on a real database."""

import asyncio
import hashlib
import json
from urllib.parse import urlencode

import msgspec
import pytest

from schemas.caller import AnonymousCaller, RejectedCaller, TokenFault
from tests.workers.graphql.graphql_service import API, SERVICE, GraphQLService, member
from workers.database.schema_cache.catalog import Role
from workers.graphql.errors import RejectedRequest

PAGE = "{ accountCollection(first: 2) { edges { node { id email } } } }"
TWO = {
    "accountCollection": {
        "edges": [{"node": {"id": 1, "email": "a@x.com"}}, {"node": {"id": 2, "email": "b@x.com"}}]
    }
}


async def test_a_query_is_answered_in_the_order_of_its_fields(service: GraphQLService) -> None:
    answer = await service.send(
        "POST", {"query": "{ __typename b: accountByPk(id: 1) { email id __typename } }"}
    )

    assert answer.headers == [("content-type", "application/json; charset=utf-8")]
    assert answer.body == (
        b'{"data":{"__typename":"Query","b":{"email":"a@x.com","id":1,"__typename":"Account"}}}'
    )


async def test_both_spellings_of_one_row_and_of_inserts_are_known(service: GraphQLService) -> None:
    assert await service.data("{ account(id: 1) { email } }") == {"account": {"email": "a@x.com"}}
    assert await service.messages("{ account { email } }") == ['Unknown field "account" on type Query']


async def test_each_scalar_leaves_in_its_form(service: GraphQLService) -> None:
    data = await service.data("{ blogByPk(id: 1) { id mood moods tags extra from owner { score loud } } }")

    assert data == {
        "blogByPk": {
            "id": "1", "mood": "VERY_GOOD", "moods": ["bad", "VERY_GOOD"], "tags": ["a", "b c"], "extra": '{"k": [1]}',
            "from": None, "owner": {"score": "1.5", "loud": "A@X.COM"},
        }
    }  # fmt: skip


async def test_json_leaves_as_it_was_written(service: GraphQLService) -> None:
    assert await service.data("{ written }") == {"written": '{"b":  1, "a": [2]}'}


async def test_enum_values_are_read_by_their_names(service: GraphQLService) -> None:
    query = "query($m: Mood) { blogCollection(filter: {mood: {eq: $m}}, first: 1) { edges { node { id } } } }"

    assert await service.data(query, {"m": "VERY_GOOD"}) == {
        "blogCollection": {"edges": [{"node": {"id": "1"}}]}
    }
    assert await service.messages(query, {"m": "very-good"}) == ["Invalid input for Mood type"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ('sign: {like: "%ab%"}', 1),
        ('sign: {regex: "^[ab]+"}', 1),
        ('note: {ilike: "%BCD%"}', 1),
        ('note: {startsWith: "abcdef"}', 0),
        ('flag: {like: "%y%"}', 0),
        ('flag: {iregex: "^X$"}', 1),
    ],
)
async def test_patterns_may_be_longer_than_the_texts_they_are_held_against(
    service: GraphQLService, condition: str, found: int
) -> None:
    data = await service.data("{ markCollection(filter: {" + condition + "}) { edges { node { id } } } }")

    assert len(data["markCollection"]["edges"]) == found


async def test_nested_connections_have_pages_of_their_own(service: GraphQLService) -> None:
    data = await service.data(
        """{ accountCollection(first: 1, orderBy: {id: DescNullsLast}, filter: {id: {lte: 3}}) { edges { cursor node {
          id blogCollection(last: 1) { pageInfo { hasPreviousPage hasNextPage startCursor endCursor } edges { node { name } } }
          latestBlogs(first: 1) { edges { node { name } } } } } } }"""
    )
    edge = data["accountCollection"]["edges"][0]

    assert edge["cursor"] == "WzMsIDNd"
    assert edge["node"] == {
        "id": 3,
        "blogCollection": {
            "pageInfo": {
                "hasPreviousPage": True,
                "hasNextPage": False,
                "startCursor": "WzZd",
                "endCursor": "WzZd",
            },
            "edges": [{"node": {"name": "blog 6"}}],
        },
        "latestBlogs": {"edges": [{"node": {"name": "blog 5"}}]},
    }  # a function's rows are ordered like any others


@pytest.mark.parametrize("direction", ["AscNullsFirst", "AscNullsLast", "DescNullsFirst", "DescNullsLast"])
async def test_pages_by_a_column_with_nulls_miss_no_row_in_either_direction(
    service: GraphQLService, direction: str
) -> None:
    query = """query($first: Int, $after: Cursor, $last: Int, $before: Cursor) {
      blogCollection(first: $first, after: $after, last: $last, before: $before, orderBy: {views: DIRECTION}) {
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { node { id } } } }""".replace(
        "DIRECTION", direction
    )
    whole = (await service.data(query, {}))["blogCollection"]["edges"]
    forward: list[object] = []
    backward: list[object] = []
    page = {"pageInfo": {"hasNextPage": True, "endCursor": None}}
    while page["pageInfo"]["hasNextPage"]:
        page = (await service.data(query, {"first": 2, "after": page["pageInfo"]["endCursor"]}))[
            "blogCollection"
        ]
        forward += page["edges"]
    page = {"pageInfo": {"hasPreviousPage": True, "startCursor": None}}
    while page["pageInfo"]["hasPreviousPage"]:
        page = (await service.data(query, {"last": 2, "before": page["pageInfo"]["startCursor"]}))[
            "blogCollection"
        ]
        backward = page["edges"] + backward

    assert len(whole) == 6
    assert forward == whole
    assert backward == whole


async def test_a_field_that_fails_is_left_out_and_the_others_are_answered(service: GraphQLService) -> None:
    answer = await service.ask(
        "{ a: divide(a: 1, b: 0) b: divide(a: 4, b: 2) c: divide(a: 2, b: 0) d: nothing e: __typename }"
    )

    assert answer["data"] == {"b": 2, "e": "Query"}
    assert [error["message"] for error in answer["errors"]] == [
        "division by zero",
        "division by zero",
        'Unknown field "nothing" on type Query',
    ]


async def test_fields_that_run_again_keep_the_isolation_level_of_the_role(service: GraphQLService) -> None:
    one = GraphQLService.make(service.pool)
    one.state._catalog.roles[SERVICE] = Role(SERVICE, isolation="serializable")

    answer = await one.ask("{ a: divide(a: 1, b: 0) isolation }")

    assert answer["data"] == {"isolation": "serializable"}


async def test_a_mutation_that_fails_undoes_all_fields(service: GraphQLService) -> None:
    messages = await service.messages(
        """mutation { a: insertIntoAccountCollection(objects: [{email: "gone"}]) { affectedCount }
          b: insertIntoBlogCollection(objects: [{id: 1, ownerId: 1, name: "twice"}]) { affectedCount } }"""
    )

    assert messages == ['duplicate key value violates unique constraint "blog_pkey"']
    assert await service.data('{ accountCollection(filter: {email: {eq: "gone"}}) { totalCount } }') == {
        "accountCollection": {"totalCount": 0}
    }


async def test_writes_answer_with_the_rows_they_wrote(service: GraphQLService) -> None:
    inserted = await service.data(
        """mutation($rows: [BlogInsertInput!]!) { insertBlogCollection(objects: $rows) {
          affectedCount records { id name mood tags owner { email } } } }""",
        {"rows": [
            {"id": 10, "ownerId": 1, "name": 'a "b" \\', "mood": "VERY_GOOD", "tags": ["x", None, 'q"\\']},
            {"id": "11", "ownerId": 2, "name": "", "mood": None, "tags": []},
        ]},
    )  # fmt: skip
    uneven = await service.data(
        """mutation { insertIntoAccountCollection(objects: [{email: "p@x.com", plan: null}, {email: "q@x.com"}]) {
          records { email plan } } }"""
    )
    updated = await service.data(
        'mutation { updateBlogCollection(set: {views: 9}, filter: {id: {in: ["10", 11]}}, atMost: 2) { affectedCount records { views } } }'
    )
    deleted = await service.data(
        """mutation { deleteFromBlogCollection(filter: {id: {gte: 10}}, atMost: 5) { records { id } }
          a: deleteFromAccountCollection(filter: {email: {in: ["p@x.com", "q@x.com"]}}, atMost: 2) { affectedCount } }"""
    )

    assert inserted["insertBlogCollection"] == {
        "affectedCount": 2,
        "records": [
            {
                "id": "10",
                "name": 'a "b" \\',
                "mood": "VERY_GOOD",
                "tags": ["x", None, 'q"\\'],
                "owner": {"email": "a@x.com"},
            },
            {"id": "11", "name": "", "mood": None, "tags": [], "owner": {"email": "b@x.com"}},
        ],
    }
    assert uneven["insertIntoAccountCollection"]["records"] == [
        {"email": "p@x.com", "plan": None},
        {"email": "q@x.com", "plan": "free"},
    ]
    assert updated["updateBlogCollection"] == {"affectedCount": 2, "records": [{"views": 9}, {"views": 9}]}
    assert deleted == {
        "deleteFromBlogCollection": {"records": [{"id": "10"}, {"id": "11"}]},
        "a": {"affectedCount": 2},
    }


async def test_at_most_is_one_unless_said_and_nothing_is_changed_beyond(service: GraphQLService) -> None:
    assert await service.messages(
        'mutation { updateAccountCollection(set: {plan: "x"}) { affectedCount } }'
    ) == ["update impacts too many records"]
    assert await service.messages("mutation { deleteFromBlogCollection { affectedCount } }") == [
        "delete impacts too many records"
    ]
    assert (await service.data('{ accountCollection(filter: {plan: {eq: "x"}}) { totalCount } }')) == {
        "accountCollection": {"totalCount": 0}
    }


@pytest.mark.parametrize(
    ("query", "variables", "expected"),
    [
        ("{ echo }", {}, "hellohello"),
        ("query($w: String) { echo(word: $w) }", {}, "hellohello"),
        ("query($w: String, $n: Int) { echo(word: $w, times: $n) }", {"n": 1}, "hello"),
        ("query($w: String) { echo(word: $w) }", {"w": None}, "nothing"),
        ("{ echo(word: null) }", {}, "nothing"),
    ],
)
async def test_an_absent_argument_of_a_function_is_its_default_and_null_is_null(
    service: GraphQLService, query: str, variables: dict[str, object], expected: str
) -> None:
    assert await service.data(query, variables) == {"echo": expected}


async def test_a_volatile_function_is_a_mutation_and_a_query_cannot_write(service: GraphQLService) -> None:
    assert await service.messages('{ note(word: "x") }') == ['Unknown field "note" on type Query']
    assert await service.data('mutation { note(word: "noted") }') == {"note": "noted"}
    assert await service.data(
        'mutation { deleteFromAccountCollection(filter: {email: {eq: "noted"}}) { affectedCount } }'
    ) == {"deleteFromAccountCollection": {"affectedCount": 1}}


async def test_a_volatile_function_is_called_once_whatever_is_selected_of_its_rows(
    service: GraphQLService,
) -> None:
    data = await service.data(
        """mutation { enlist(howMany: 3, first: 1, offset: 1, filter: {score: {gt: "0"}}) {
          totalCount aggregate { sum { score } } pageInfo { hasNextPage hasPreviousPage }
          edges { node { email loud nodeId latestBlogs { edges { cursor } } } } } }"""
    )
    removed = await service.data(
        'mutation { deleteFromAccountCollection(filter: {email: {like: "new_"}}, atMost: 9) { affectedCount } }'
    )

    edges = data["enlist"].pop("edges")
    assert (edges[0]["node"]["email"], edges[0]["node"]["loud"]) == ("new2", "NEW2")
    assert data["enlist"] == {
        "totalCount": 3,
        "aggregate": {"sum": {"score": 6}},
        "pageInfo": {"hasNextPage": True, "hasPreviousPage": True},
    }
    assert removed == {"deleteFromAccountCollection": {"affectedCount": 3}}


async def test_every_page_that_variables_choose_has_its_rows(service: GraphQLService) -> None:
    await service.data("mutation { enlist(howMany: 200) { edges { node { id } } } }")
    page = "{ edges { node { id } } pageInfo { hasNextPage } } }"
    forward = f"query($n: Int, $o: Int) {{ accountCollection(first: $n, offset: $o, orderBy: {{id: AscNullsLast}}) {page}"
    backward = f"query($n: Int) {{ accountCollection(last: $n, orderBy: {{id: AscNullsLast}}) {page}"
    every: list[int] = []
    while (found := await service.data(forward, {"n": 30, "o": len(every)}))["accountCollection"]["edges"]:
        every += [edge["node"]["id"] for edge in found["accountCollection"]["edges"]]

    assert len(every) == 205
    for count in (1, 2, 29, 30):
        for skipped in (0, 1, 63, 64, 65, 174, 175, 176, 203, 204, 205, 1000):
            data = (await service.data(forward, {"n": count, "o": skipped}))["accountCollection"]
            assert [edge["node"]["id"] for edge in data["edges"]] == every[skipped : skipped + count]
            assert data["pageInfo"]["hasNextPage"] is (skipped + count < 205)
        data = (await service.data(backward, {"n": count}))["accountCollection"]
        assert [edge["node"]["id"] for edge in data["edges"]] == every[-count:]
    await service.data(
        'mutation { deleteFromAccountCollection(filter: {email: {like: "new%"}}, atMost: 200) { affectedCount } }'
    )


async def test_rows_are_those_the_policies_of_the_caller_let_pass(service: GraphQLService) -> None:
    query = "{ secretCollection { edges { node { id } } } }"

    assert await service.data(query, caller=member("bob")) == {
        "secretCollection": {"edges": [{"node": {"id": 2}}]}
    }
    assert len((await service.data(query))["secretCollection"]["edges"]) == 2
    answer = await service.ask(query, caller=AnonymousCaller())
    assert answer["errors"] == [{"message": 'Unknown field "secretCollection" on type Query'}]


async def test_a_write_touches_only_rows_that_the_caller_may_see_whatever_he_asks_for(
    service: GraphQLService,
) -> None:
    insert = 'mutation { insertIntoLetterCollection(objects: [{id: 3, owner: "ada"}]) { affectedCount } }'
    delete = "mutation { deleteFromLetterCollection(atMost: 5) { affectedCount } }"
    refused = await service.ask(insert, caller=member("bob"))

    assert refused["data"] is None
    assert refused["errors"][0]["message"] == (
        'new row violates row-level security policy for table "letter"'
    )
    assert await service.data(delete, caller=member("bob")) == {
        "deleteFromLetterCollection": {"affectedCount": 1}
    }
    assert await service.data("{ letterCollection { edges { node { id } } } }") == {
        "letterCollection": {"edges": [{"node": {"id": 1}}]}
    }


async def test_functions_see_the_headers_and_take_lists(service: GraphQLService) -> None:
    answer = await service.send(
        "POST", {"query": '{ header(name: "x-word") sums(numbers: [1, 2]) }'}, x_word="told"
    )

    assert json.loads(answer.body) == {"data": {"header": "told", "sums": "3"}}


async def test_names_beyond_those_of_columns_and_more_fields_than_arguments_are_answered(
    service: GraphQLService,
) -> None:
    long = "a" * 200
    many = " ".join(f"f{n}: email" for n in range(120))
    data = await service.data("{ accountByPk(id: 1) { " + long + ": email " + many + " } }")

    assert data["accountByPk"][long] == "a@x.com"
    assert len(data["accountByPk"]) == 121


async def test_response_keys_hide_nothing_they_are_named_like(service: GraphQLService) -> None:
    data = await service.data(
        "{ r: blogByPk(id: 1) { blog: name t: id from: name r: owner { r: loud t: email } } }"
    )

    assert data == {
        "r": {"blog": "blog 1", "t": "1", "from": "blog 1", "r": {"r": "A@X.COM", "t": "a@x.com"}}
    }


async def test_a_long_answer_is_streamed_and_whole(service: GraphQLService) -> None:
    big = "x" * 3_000_000
    await service.data(
        "mutation($n: String!) { updateBlogCollection(set: {from: $n}, filter: {id: {eq: 1}}) { affectedCount } }",
        {"n": big},
    )
    answer = await service.ask(
        "{ a: divide(a: 1, b: 1) b: blogByPk(id: 1) { from } c: __typename d: nothing }"
    )
    await service.data(
        "mutation { updateBlogCollection(set: {from: null}, filter: {id: {eq: 1}}) { affectedCount } }"
    )

    assert answer["data"] == {"a": 1, "b": {"from": big}, "c": "Query"}
    assert len(answer["errors"]) == 1


async def test_aggregates_hold_over_all_pages(service: GraphQLService) -> None:
    data = await service.data(
        """{ accountCollection(first: 1, filter: {id: {lte: 4}}) { totalCount aggregate {
          n: count sum { id score } avg { id } min { email } max { score } } } }"""
    )

    assert data["accountCollection"] == {
        "totalCount": 4,
        "aggregate": {
            "n": 4, "sum": {"id": 10, "score": 15.0}, "avg": {"id": 2.5}, "min": {"email": "a@x.com"}, "max": {"score": 6.0},
        },
    }  # fmt: skip


async def test_a_node_is_found_by_its_id(service: GraphQLService) -> None:
    ids = await service.data("{ blogByPk(id: 3) { nodeId } }")
    query = "query($id: ID!) { node(nodeId: $id) { __typename nodeId ... on Blog { name } ... on Account { email } } }"
    found = await service.data(query, {"id": ids["blogByPk"]["nodeId"]})

    assert found["node"] == {"__typename": "Blog", "nodeId": ids["blogByPk"]["nodeId"], "name": "blog 3"}
    assert await service.messages(query, {"id": "?"}) == ["Invalid value passed to nodeId argument. Error 2"]
    assert await service.messages(query, {"id": "WyJwdWJsaWMiLCJ4IiwxXQ=="}) == [
        "Collection referenced by nodeId did not match any known collection"
    ]


async def test_introspection_is_answered_unless_it_is_switched_off(service: GraphQLService) -> None:
    query = 'query($n: String! = "Account") { __type(name: $n) { name } __schema { queryType { name } } }'

    assert await service.data(query) == {
        "__type": {"name": "Account"},
        "__schema": {"queryType": {"name": "Query"}},
    }
    assert (await service.data(query, {"n": "Blog"}))["__type"] == {"name": "Blog"}
    closed = GraphQLService.make(service.pool, introspection=False)
    assert await closed.messages("{ __schema { queryType { name } } }") == [
        'Unknown field "__schema" on type Query'
    ]


# --- the request itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'[{"query":"{a}"}]', b"{", b'"x"', b"{}", b'{"query":1}', b"\xff", b"[" * 5000]
)
async def test_a_body_that_is_not_a_request_is_rejected(service: GraphQLService, body: bytes) -> None:
    with pytest.raises(RejectedRequest) as refused:
        await service.send("POST", body)

    assert refused.value.status == 400
    assert set(refused.value.body()) == {"data", "errors"}


async def test_a_query_may_come_by_get_and_a_mutation_may_not(service: GraphQLService) -> None:
    found = await service.send(
        "GET", query=urlencode({"query": PAGE, "variables": "{}", "operationName": ""})
    )

    assert json.loads(found.body) == {"data": TWO}
    with pytest.raises(RejectedRequest) as refused:
        await service.send("GET", query=urlencode({"query": "mutation { __typename }"}))
    assert (refused.value.status, refused.value.headers()) == (405, [("allow", "POST")])
    with pytest.raises(RejectedRequest) as refused:
        await service.send("PUT", b"{}")
    assert refused.value.status == 405


async def test_a_browser_gets_the_page(service: GraphQLService) -> None:
    page = await service.send("GET", accept="text/html,*/*")

    assert page.body.startswith(b"<!doctype html>")
    assert b"http://" not in page.body
    assert b"https://" not in page.body
    with pytest.raises(RejectedRequest):
        await GraphQLService.make(service.pool, page=False).send("GET", accept="text/html")


async def test_a_document_can_be_requested_by_its_hash(service: GraphQLService) -> None:
    sha256 = hashlib.sha256(PAGE.encode()).hexdigest()
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": sha256}}
    one = GraphQLService.make(service.pool)
    unknown = json.loads((await one.send("POST", {"extensions": extensions})).body)
    first = await one.ask(PAGE, extensions=extensions)
    again = json.loads((await one.send("POST", {"extensions": extensions})).body)
    by_get = await one.send("GET", query=urlencode({"extensions": json.dumps(extensions)}))

    assert unknown["errors"] == [
        {"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}
    ]
    assert first["data"] == again["data"] == json.loads(by_get.body)["data"] == TWO


async def test_a_rejected_token_is_a_401(service: GraphQLService) -> None:
    with pytest.raises(RejectedRequest) as refused:
        await service.send("POST", {"query": PAGE}, caller=RejectedCaller(TokenFault.CLAIMS, "JWT expired"))

    assert refused.value.status == 401
    assert refused.value.body()["errors"] == [{"message": "JWT expired"}]


async def test_text_that_postgres_cannot_hold_is_an_error_of_its_field(service: GraphQLService) -> None:
    query = "query($e: String) { accountCollection(filter: {email: {eq: $e}}) { totalCount } }"

    assert len(await service.messages(query, {"e": "a\x00b"})) == 1
    assert (
        len(await service.messages('{ accountCollection(filter: {email: {eq: "\\u0000"}}) { totalCount } }'))
        == 1
    )


async def test_answers_about_types_belong_to_their_document(service: GraphQLService) -> None:
    padding = (
        "#" + "x" * 40_000
    )  # documents of this length are not kept, so that the memory of one is used for the next

    for name in ["Account", "Blog", "Secret", "Letter"] * 25:
        answer = await service.data(f'{{ __type(name: "{name}") {{ name }} }} {padding}')

        assert answer == {"__type": {"name": name}}


# --- plans that are kept -------------------------------------------------------------------------------------


async def test_one_plan_serves_all_values_of_one_shape(service: GraphQLService) -> None:
    one = GraphQLService.make(service.pool)
    query = """query($n: Int, $f: AccountFilter, $c: Cursor) {
      accountCollection(first: $n, filter: $f, after: $c) { edges { cursor node { id } } } }"""
    seen = []
    for size, least, cursor in ((1, 0, "WzFd"), (2, 1, "WzJd"), (3, 2, "WzNd")):
        data = await one.data(query, {"n": size, "f": {"id": {"gt": least}}, "c": cursor})
        seen.append([edge["node"]["id"] for edge in data["accountCollection"]["edges"]])
    role = await one.state.role("graphql_service")
    plans = role.operation(query, None).plans

    assert seen == [[2], [3, 4], [4, 5]]
    assert len(plans) == 1
    assert await one.messages(query, {"n": -1}) == ["`first` must be an unsigned integer"]
    assert await one.messages(query, {"n": 1, "f": {"id": {"gt": "x"}}, "c": "WzFd"}) == [
        "Invalid input for Int type"
    ]
    assert await one.messages(query, {"n": 1, "f": {"id": {"gt": 0}}, "c": "x"}) == [
        "Failed to decode cursor, error 1"
    ]


async def test_a_plan_whose_names_or_values_are_long_is_not_kept(service: GraphQLService) -> None:
    one = GraphQLService.make(service.pool)
    query = """query($f: AccountFilter, $d: OrderByDirection) {
      accountCollection(first: 1, filter: $f, orderBy: {id: $d}) { edges { cursor } } }"""

    await one.messages(query, {"f": {"x" * 20_000: 1}})
    await one.messages(query, {"d": "x" * 20_000})
    role = await one.state.role("graphql_service")

    assert not role.operation(query, None).plans


async def test_values_that_decide_a_plan_are_part_of_its_key(service: GraphQLService) -> None:
    query = """query($d: OrderByDirection, $with: Boolean!, $is: FilterIs) {
      accountCollection(first: 1, orderBy: {id: $d}, filter: {score: {is: $is}}) { edges { node { id email @include(if: $with) } } } }"""

    async def first(**variables: object) -> object:
        return (await service.data(query, variables))["accountCollection"]["edges"]

    assert await first(d="AscNullsLast", **{"with": True}) == [{"node": {"id": 1, "email": "a@x.com"}}]
    assert await first(d="DescNullsLast", **{"with": False}) == [{"node": {"id": 5}}]
    assert await first(d="DescNullsLast", **{"with": False, "is": "NULL"}) == []
    assert await first(d="AscNullsLast", **{"with": False, "is": "NOT_NULL"}) == [{"node": {"id": 1}}]
    assert await first(d=None, **{"with": False, "is": None}) == []


async def test_inserts_of_any_number_of_even_rows_share_a_plan(service: GraphQLService) -> None:
    one = GraphQLService.make(service.pool)
    query = (
        "mutation($o: [AccountInsertInput!]!) { insertIntoAccountCollection(objects: $o) { affectedCount } }"
    )
    for count in (1, 2, 7):
        rows = [{"email": f"even{n}@x.com", "plan": None if n % 2 else "p"} for n in range(count)]
        assert (await one.data(query, {"o": rows}))["insertIntoAccountCollection"]["affectedCount"] == count
    role = await one.state.role("graphql_service")
    await one.data(
        'mutation { deleteFromAccountCollection(filter: {email: {startsWith: "even"}}, atMost: 99) { affectedCount } }'
    )

    assert len(role.operation(query, None).plans) == 2  # with a null among the values, and without
    assert await one.messages(query, {"o": []}) == ["At least one record must be provided to objects"]
    assert await one.messages(query, {"o": [{"email": 1}]}) == ["Invalid input for String type"]


async def test_variables_inside_literals_are_not_frozen(service: GraphQLService) -> None:
    query = "query($a: Int) { accountCollection(filter: {id: {in: [$a, 4]}}) { edges { node { id } } } }"

    async def ids(value: int) -> list[int]:
        data = await service.data(query, {"a": value})
        return [edge["node"]["id"] for edge in data["accountCollection"]["edges"]]

    assert await ids(1) == [1, 4]
    assert await ids(2) == [2, 4]


async def test_a_function_before_each_request_is_called(service: GraphQLService) -> None:
    api = msgspec.structs.replace(API, pre_request="public.nobody_may")
    one = GraphQLService.make(service.pool, api)

    answer = await one.ask("{ accountCollection { totalCount } }")
    assert "nobody_may" in answer["errors"][0]["message"]


async def test_a_name_that_stays_missing_causes_one_reload(service: GraphQLService) -> None:
    looks = []
    one = GraphQLService.make(service.pool)

    async def no_newer_state(state: object) -> bool:
        looks.append(state)
        return False

    one.worker._wait_for_new_state = no_newer_state
    query = '{ markCollection(filter: {place: {eq: "(1,2)"}}) { edges { cursor } } b: divide(a: 2, b: 1) }'
    answers = [await one.ask(query) for _ in range(3)]

    assert all(answer["data"] == {"b": 2} for answer in answers)
    assert all("operator does not exist" in answer["errors"][0]["message"] for answer in answers)
    assert len(looks) == 1


async def test_catalogs_that_were_read_ahead_serve_the_first_request(service: GraphQLService) -> None:
    fresh = GraphQLService.make(service.pool)
    failed = fresh.state.read_catalogs()
    failed.cancel()
    await asyncio.wait([failed])

    ahead = fresh.state.read_catalogs()
    await ahead
    await fresh.data("{ accountCollection { edges { cursor } } }")

    assert ahead is not failed
    assert fresh.state.read_catalogs() is ahead
