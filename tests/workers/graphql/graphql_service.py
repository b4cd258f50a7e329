"""A GraphQL worker with its own database, and a client for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.requests.handler import StreamedResponse
from schemas.caller import Caller, ServiceCaller, UserCaller
from schemas.http import Headers, Request, Response
from schemas.settings.graphql import Graphql
from schemas.settings.tree import Api, Settings
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.schema_cache.catalog import Catalog
from workers.graphql.parse.limits import limits_from
from workers.graphql.parse.persisted import PersistedQueries
from workers.graphql.state import GraphQLState, ParsedDocuments
from workers.graphql.worker import GraphQLWorker

LOGIN, ANON, MEMBER, SERVICE = "graphql_login", "graphql_anon", "graphql_member", "graphql_service"
API = Api(schemas=["public"], extra_search_path=[], anon_role=ANON, service_role=SERVICE)
SCHEMA = """
create table account(id int generated always as identity primary key, email varchar(40) not null, plan text default 'free', score numeric);
comment on table account is '@graphql({"totalCount": {"enabled": true}, "aggregate": {"enabled": true}})';
create type mood as enum ('very-good', 'bad');
comment on type mood is '@graphql({"mappings": {"very-good": "VERY_GOOD"}})';
create table blog(
  id bigint primary key, owner_id int not null references account, name text not null, mood mood, moods mood[],
  tags text[], extra jsonb, views int, "from" text
);
create table secret(id int primary key, owner text);
alter table secret enable row level security;
create policy own on secret to graphql_member using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
create table letter(id int primary key, owner text);
alter table letter enable row level security;
create policy post on letter for insert to graphql_member with check (true);
create policy read on letter for select to graphql_member using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
create policy burn on letter for delete to graphql_member using (true);
insert into letter values (1, 'ada'), (2, 'bob');
create table mark(id int primary key, place point, sign char(3), flag "char", note varchar(4));
insert into mark values (1, null, 'ab', 'x', 'abcd');
create function divide(a int, b int) returns int stable language sql as 'select a / b';
create function isolation() returns text stable language sql as $$ select current_setting('transaction_isolation') $$;
create function loud(account) returns text stable language sql as $$ select upper($1.email) $$;
create function latest_blogs(account) returns setof blog stable language sql as
  'select * from blog where owner_id = $1.id order by id desc';
create function echo(word text default 'hello', times int default 2) returns text immutable language sql as
  $$ select coalesce(repeat(word, times), 'nothing') $$;
create function note(word text) returns text volatile language plpgsql as
  $$ begin insert into account(email) values (word); return word; end $$;
create function enlist(how_many int) returns setof account volatile language sql as
  $$ insert into account(email, score) select 'new' || n, n from generate_series(1, how_many) n returning * $$;
create function header(name text) returns text stable language sql as
  $$ select current_setting('request.headers')::json ->> name $$;
create function written() returns json immutable language sql as $$ select '{"b":  1, "a": [2]}'::json $$;
create function sums(numbers int[]) returns bigint immutable language sql as 'select sum(n) from unnest(numbers) n';
comment on schema public is '@graphql({"inflect_names": true})';
insert into account(email, score) select chr(96 + n) || '@x.com', n * 1.5 from generate_series(1, 5) n;
insert into blog select n, (n + 1) / 2, 'blog ' || n, 'very-good', '{bad,very-good}', '{a,"b c"}', '{"k": [1]}', nullif(n, 4) from generate_series(1, 6) n;
insert into secret values (1, 'ada'), (2, 'bob');
"""
GRANTS = """
grant usage on schema public to graphql_anon, graphql_member, graphql_service;
grant all on all tables in schema public to graphql_member, graphql_service;
grant select on account to graphql_anon;
alter role graphql_service bypassrls;
"""


@dataclass
class GraphQLService:
    """A worker with its connections. `ask` sends a document, `send` any request."""

    pool: ConnectionPool
    state: GraphQLState
    worker: GraphQLWorker

    @classmethod
    def make(cls, pool: ConnectionPool, api: Api = API, **options: Any) -> "GraphQLService":
        """Create a worker. `options` are settings of the section [graphql]."""
        settings = Settings(graphql=Graphql(**options))
        documents = ParsedDocuments(limits_from(settings.graphql))
        state = GraphQLState(api, settings, Catalog(), pool, documents)

        async def no_newer_state(_: GraphQLState) -> bool:
            return False

        persisted = PersistedQueries(settings.graphql.persisted_queries)
        worker = GraphQLWorker(
            pool, 8 << 20, lambda: state, no_newer_state, persisted, has_page=settings.graphql.page
        )
        return cls(pool, state, worker)

    async def send(
        self, method: str, body: object = None, query: str = "", caller: Caller | None = None, **headers: str
    ) -> Response:
        """Send a request and return the whole answer."""
        sent: Headers = [(name.replace("_", "-"), value) for name, value in headers.items()]
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = Request("test", method, "/", query, sent, caller or ServiceCaller(), body=data)
        answer = await self.worker.answer(request, Inline(data))  # type: ignore[arg-type]  # read like one
        if isinstance(answer, StreamedResponse):
            whole = b"".join([piece async for piece in answer.chunks])
            assert len(whole) == answer.size
            return Response(answer.status, answer.headers, whole)
        return answer

    async def ask(
        self,
        query: str,
        variables: Mapping[str, object] | None = None,
        caller: Caller | None = None,
        **more: object,
    ) -> Any:
        """Send a document by POST and return the answer's JSON."""
        answer = await self.send("POST", {"query": query, "variables": variables, **more}, caller=caller)
        assert answer.status == 200, answer
        return json.loads(answer.body)

    async def data(
        self, query: str, variables: Mapping[str, object] | None = None, caller: Caller | None = None
    ) -> Any:
        """Return the data of an answer without errors."""
        answer = await self.ask(query, variables, caller)
        assert "errors" not in answer, answer
        return answer["data"]

    async def messages(self, query: str, variables: Mapping[str, object] | None = None) -> list[str]:
        """Return the error messages of an answer without data."""
        answer = await self.ask(query, variables)
        assert answer["data"] is None, answer
        return [error["message"] for error in answer["errors"]]


def member(name: str) -> UserCaller:
    """Return an authenticated caller with the role MEMBER and a name as `sub`."""
    return UserCaller(json.dumps({"role": MEMBER, "sub": name}).encode())
