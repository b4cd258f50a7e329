"""The requests of the subscription edge, on a real database."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest

from broker.requests.handler import StreamedResponse
from schemas.caller import Caller, ServiceCaller
from schemas.http import Request, Response, header
from schemas.subscriptions import (
    MEDIA_TYPE,
    METHOD,
    PLAN,
    ROWS,
    RUN,
    LiveQueryPlan,
    OperationErrors,
    RowChangesPlan,
    RowsAnswer,
    RowsQuery,
    SubscriptionPlan,
)
from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from tests.workers.database.own_server import OwnServer
from tests.workers.graphql.graphql_service import (
    ANON,
    GRANTS,
    LOGIN,
    MEMBER,
    SCHEMA,
    SERVICE,
    GraphQLService,
    member,
)
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.graphql.errors import RejectedRequest as RefusedRequest
from workers.graphql.subscriptions.service import SubscribableWorker

PUBLISHED = """
create publication supabase_realtime for table account, secret, blog;
create table parted(id int, day date, primary key (id, day)) partition by range (day);
create table parted_1 partition of parted for values from ('2026-01-01') to ('2026-02-01');
alter publication supabase_realtime add table parted_1;
create view named as select b.name, a.email from blog b join account a on a.id = b.owner_id;
create view twice as select * from named;
create materialized view counted as select count(*) as n from account;
create view over_counted as select * from counted;
comment on view twice is '@graphql({"primary_key_columns": ["name"]})';
comment on view over_counted is '@graphql({"primary_key_columns": ["n"]})';
"""
_read: msgspec.msgpack.Decoder[SubscriptionPlan] = msgspec.msgpack.Decoder(SubscriptionPlan)


class Edge:
    """Sends requests to the worker as the subscription edge does."""

    def __init__(self, service: GraphQLService) -> None:
        async def no_newer_state(_: object) -> bool:
            return False

        self.worker = SubscribableWorker(
            service.worker, service.pool, 1 << 20, lambda: service.state, no_newer_state
        )

    async def ask(self, path: str, body: bytes, caller: Caller | None = None) -> Response:
        request = Request("test", METHOD, path, caller=caller or ServiceCaller(), body=body)
        answer = await self.worker.answer(request, Inline(body))  # type: ignore[arg-type]  # read like one
        assert not isinstance(answer, StreamedResponse)
        return answer

    async def plan(
        self, query: str, variables: Mapping[str, object] | None = None, caller: Caller | None = None
    ) -> OperationErrors | LiveQueryPlan | RowChangesPlan:
        answer = await self.ask(PLAN, operation(query, variables), caller)
        assert header(answer.headers, "content-type") == MEDIA_TYPE, answer
        return _read.decode(answer.body)

    async def rows(self, query: str, *keys: list[str], caller: Caller | None = None) -> RowsAnswer:
        answer = await self.ask(ROWS, msgspec.msgpack.encode(RowsQuery(operation(query), list(keys))), caller)
        return msgspec.msgpack.decode(answer.body, type=RowsAnswer)


def operation(query: str, variables: Mapping[str, object] | None = None) -> bytes:
    return json.dumps({"query": query, "variables": variables}).encode()


@pytest.fixture(scope="module")
async def edge(server: OwnServer) -> AsyncIterator[Edge]:
    roles = login_role(LOGIN, ANON, MEMBER, SERVICE)
    async with fresh_database(server.url, roles, SCHEMA, PUBLISHED, GRANTS) as url:
        pool = await ConnectionPool.open(as_role(url, LOGIN), 2)
        yield Edge(GraphQLService.make(pool))
        await pool.close()


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("{ accountCollection { totalCount } }", {"account"}),
        ("{ accountCollection { edges { node { blogCollection { edges { node { name } } } } } } }", {"account", "blog"}),
        ("{ accountCollection(filter: {blogCollection: {some: {name: {eq: \"x\"}}}}) { totalCount } }", {"account", "blog"}),
        ("{ accountCollection { edges { node { latestBlogs { edges { node { id } } } } } } }", {"account", "blog"}),
        ("{ accountByPk(id: 1) { id } }", {"account"}),
        ("{ twiceCollection { edges { node { name } } } }", {"account", "blog"}),
        ("{ partedCollection { edges { node { id } } } }", {"parted_1"}),
    ],
)  # fmt: skip
async def test_a_live_query_follows_the_tables_it_reads(edge: Edge, query: str, tables: set[str]) -> None:
    followed = await edge.plan("subscription " + query)

    assert isinstance(followed, LiveQueryPlan), followed
    assert set(followed.tables) == {("public", each) for each in tables}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "{ markCollection { edges { cursor } } }",
            'alter publication supabase_realtime add table "public"."mark";',
        ),
        ("{ markChanges { event } }", 'alter publication supabase_realtime add table "public"."mark";'),
        ("{ overCountedCollection { edges { cursor } } }", "materialized view"),
        ("{ divide(a: 1, b: 2) }", "no table"),
        ("{ twiceChanges { event } }", 'Unknown field "twiceChanges"'),
        ("{ partedChanges { event } }", "publish_via_partition_root"),
        ("{ accountChanges { node } }", "Nothing is selected"),
        ("{ accountChanges { event(a: 1) } }", "extra keys"),
        ("{ accountChanges { old { loud } } }", 'Unknown field "loud" on type AccountOld'),
        ('{ accountChanges(filter: {nothing: {eq: "1"}}) { event } }', "extra keys"),
        ("{ accountChanges(event: []) { event } }", "event is a list"),
    ],
)
async def test_a_query_without_followable_tables_is_rejected(edge: Edge, query: str, message: str) -> None:
    followed = await edge.plan("subscription " + query)

    assert isinstance(followed, OperationErrors), followed
    assert message in json.loads(followed.errors)[0]["message"]


@pytest.mark.parametrize(
    ("query", "variables", "message"),
    [
        (
            "($p: String!) { accountChanges(filter: {plan: {eq: $p}}) { event } }",
            {},
            "Variable '$p' of required type 'String!' was not provided.",
        ),
        (
            "($f: AccountFilter!) { accountChanges(filter: $f) { event } }",
            {},
            "Variable '$f' of required type 'AccountFilter!' was not provided.",
        ),
        ("{ accountChanges(filter: {plan: {eq: $p}}) { event } }", {}, "Variable '$p' is not defined."),
        ("($n: Int) { accountChanges { event } }", {"n": "x"}, "Int cannot represent non-integer value"),
        ("($n: Nothing) { accountChanges { event } }", {}, "Unknown type 'Nothing'"),
        ("($p: String, $p: String) { accountChanges { event } }", {}, "only one variable named '$p'"),
        ("{ accountChanges { event @nothing } }", {}, "Unknown directive"),
        ("{ accountChanges { event { x } } }", {}, "must not have a selection"),
    ],
)
async def test_a_subscription_to_changes_is_validated_like_a_query(
    edge: Edge, query: str, variables: dict[str, object], message: str
) -> None:
    followed = await edge.plan("subscription " + query, variables)

    assert isinstance(followed, OperationErrors), followed
    assert message in json.loads(followed.errors)[0]["message"]


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("($p: String!) { accountChanges(filter: {plan: {eq: $p}}) { event } }", {"p": "free"}),
        ("($f: AccountFilter!) { accountChanges(filter: $f) { event } }", {"f": None}),
        ("($f: AccountFilter) { accountChanges(filter: $f) { event } }", {"f": {"id": {"in": [1, 2]}}}),
        ("($e: [ChangeEvent!]) { accountChanges(event: $e) { event } }", {"e": ["DELETE"]}),
        ('{ accountChanges(event: ["DELETE"]) { event } }', {}),
        ("{ accountChanges(filter: {plan: {eq: $p}}) { event } }", {"p": "free"}),
        ("($unused: Int) { accountChanges { event ...Unused } }", {}),
        (
            "($s: Boolean!) { accountChanges @skip(if: $s) { event } b: accountChanges @include(if: $s) { event } }",
            {"s": True},
        ),
        ("{ ...Root }", {}),
    ],
)
async def test_a_valid_subscription_to_changes_is_followed(
    edge: Edge, query: str, variables: dict[str, object]
) -> None:
    fragments = """ fragment Root on Subscription { accountChanges { ... on AccountChange { node { ...Row } old { ...Old } } } }
      fragment Row on Account { id email } fragment Old on AccountOld { id } fragment Unused on AccountChange { position }"""
    followed = await edge.plan("subscription " + query + fragments, variables)

    assert isinstance(followed, RowChangesPlan), followed


async def test_changes_tell_whose_they_are_and_what_the_feed_decides(edge: Edge) -> None:
    query = """subscription ($plan: String, $e: [String!]) { changed: accountChanges(event: $e, filter: {plan: {eq: $plan}, email: {startsWith: "a"}}) {
      kind: event a: node { email } b: node { blogCollection { edges { node { id } } } } old { id score } } }"""
    found = await edge.plan(query, {"plan": 'p"', "e": ["UPDATE", "INSERT"]}, member("ada"))

    assert isinstance(found, RowChangesPlan)
    assert (found.role, json.loads(found.claims)["sub"], found.table) == (
        MEMBER,
        "ada",
        ("public", "account"),
    )
    assert (found.events, found.filter, found.is_filtered) == (["INSERT", "UPDATE"], 'plan=eq."p\\""', True)
    assert (found.select, found.primary_key, found.name, found.nodes) == (
        ["id", "score"],
        ["id"],
        "changed",
        2,
    )
    assert [field.key for field in found.fields] == ["kind", "a", "b", "old"]
    assert [column.form for column in found.fields[3].columns] == ["json", "text"]


async def test_rows_are_read_by_their_key_under_the_callers_policies(edge: Edge) -> None:
    query = "subscription { secretChanges { node { id owner } } }"
    ada = await edge.rows(query, ["1"], ["2"], ["99"], caller=member("ada"))
    service = await edge.rows(query, ["2"])

    assert (ada.missing, service.missing) == ([1, 2], [])
    assert ada.rows == [[b'{"id":1,"owner":"ada"}'], [b"null"], [b"null"]]
    assert service.rows == [[b'{"id":2,"owner":"bob"}']]


async def test_rows_that_do_not_pass_the_remaining_filter_are_not_returned(edge: Edge) -> None:
    query = "subscription { accountChanges(event: INSERT, filter: {or: [{id: {eq: 1}}, {id: {eq: 2}}]}) { event } }"

    found = await edge.rows(query, ["1"], ["3"], ["99"])

    assert (found.rows, found.missing) == ([[], None, None], [2])


async def test_keys_are_parameters(edge: Edge) -> None:
    found = await edge.rows("subscription { accountChanges { node { id } } }", ["1' or true --"])

    assert found.rows == []
    assert json.loads(found.errors)[0]["extensions"]["code"] == "22P02"


async def test_a_live_query_runs_like_a_query(edge: Edge) -> None:
    query = "subscription S($n: Int) { a: accountCollection(first: $n) { edges { node { ...F } } } } fragment F on Account { id }"
    answer = await edge.ask(RUN, operation(query, {"n": 1}))

    assert json.loads(answer.body) == {"data": {"a": {"edges": [{"node": {"id": 1}}]}}}


async def test_subscriptions_with_long_variables_are_not_kept(edge: Edge) -> None:
    query = "subscription ($n: Int) { accountCollection(first: $n) { edges { cursor } } }"

    for variables in ({"n": 1}, {"n": 1, "unused": "x" * 40_000}):
        await edge.ask(RUN, operation(query, variables))
    stored = [key for plans in edge.worker._subscriptions._live.values() for key in plans]

    assert stored
    assert max(len(repr(key)) for key in stored) < 40_000


async def test_queries_and_mutations_are_done_at_once(edge: Edge) -> None:
    query = await edge.ask(PLAN, operation("{ __typename }"))
    mutation = await edge.ask(PLAN, operation('mutation { note(word: "w@x.com") }'))

    assert json.loads(query.body) == {"data": {"__typename": "Query"}}
    assert json.loads(mutation.body) == {"data": {"note": "w@x.com"}}


@pytest.mark.parametrize("path", [RUN, ROWS])
async def test_only_subscriptions_are_run(edge: Edge, path: str) -> None:
    body = operation("mutation { deleteFromaccountCollection { affectedCount } }")
    asked: dict[str, bytes] = {RUN: body, ROWS: msgspec.msgpack.encode(RowsQuery(body, [["1"]]))}
    answer = await edge.ask(path, asked[path])

    assert json.loads(answer.body)["data"] is None


@pytest.mark.parametrize(
    ("path", "body"),
    [(ROWS, b"\xc1"), (ROWS, msgspec.msgpack.encode(RowsQuery(b"{}", []))), (PLAN, b"["), ("/else", b"{}")],
)
async def test_an_invalid_request_is_rejected(edge: Edge, path: str, body: Any) -> None:
    with pytest.raises(RefusedRequest):
        await edge.ask(path, body)
