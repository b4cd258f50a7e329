"""The pools rest and graphql of one process, on a primary with streaming replicas, and requests to them."""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker.nats.connection import NatsConnection
from broker.processes.lifecycle import ManagedProcess
from broker.requests.call import Calls
from broker.subjects import GRAPHQL, REST
from schemas.caller import Caller, ServiceCaller, UserCaller
from schemas.http import Request, Response
from schemas.keys.secret import Secret
from schemas.settings.tree import Api, Broker, Db, Pools, Replicas, Settings
from schemas.settings.types import Duration
from schemas.subscriptions import METHOD
from services.gateway.requests.recent_writes import RecentWrites
from tests.broker.server import NatsServer
from tests.workers.database.introspection_fixtures import as_role
from tests.workers.database.own_server import OwnServer
from tests.workers.database.standby import Standby
from tests.workers.test_resources import lives
from workers.graphql import pool as graphql_pool
from workers.resources import Resources, open_resources
from workers.rest import pool as rest_pool

LOGIN, SERVICE = "replicas_login", ServiceCaller()
SCHEMA = """
create table notes(id int primary key, owner text, text text);
alter table notes enable row level security;
create policy own on notes to replicas_user using (owner = current_setting('request.jwt.claims')::json ->> 'sub')
  with check (owner = current_setting('request.jwt.claims')::json ->> 'sub');
create table plain(id int primary key);
create table board(id int primary key);
insert into board values (1);
create function from_replica(board) returns boolean stable language sql as 'select pg_is_in_recovery()';
create view place as select pg_is_in_recovery() as is_replica, current_user::text as role;
create function where_am_i() returns boolean stable language sql as 'select pg_is_in_recovery()';
create function where_volatile() returns boolean volatile language sql as 'select pg_is_in_recovery()';
create function add_note(n int) returns int volatile language sql as
  $$ insert into notes values (n, 'service', 'by a function') returning id $$;
create function announces() returns boolean stable language plpgsql as
  $$ begin perform pg_notify('news', 'x'); return pg_is_in_recovery(); end $$;
create function slow_on_replicas() returns boolean stable language plpgsql as $$
  begin
    perform count(*) from plain;
    if pg_is_in_recovery() then perform pg_sleep(300); end if;
    return pg_is_in_recovery();
  end $$;
create function fails() returns int stable language plpgsql as
  $$ begin raise sqlstate 'PT418' using message = 'a teapot'; end $$;
insert into notes values (1, 'ada', 'hers'), (2, 'bob', 'his');
grant usage on schema public to replicas_anon, replicas_user, replicas_service;
grant all on all tables in schema public to replicas_user, replicas_service;
grant select on place, board to replicas_anon;
alter role replicas_service bypassrls;
"""
ON_REPLICA = "select 1 from pg_stat_activity where state = 'active' and query like '%slow_on_replicas%' and pid <> pg_backend_pid()"


@dataclass
class Replicated:
    """Running pools; `send` answers one request as the gateway would forward it, without that of `writes` unless named."""

    resources: Resources
    calls: Calls
    connection: NatsConnection
    writes: RecentWrites

    async def send(
        self, method: str, target: str, body: object = None, caller: Caller = SERVICE, **headers: str
    ) -> Response:
        """Send a request to the pool rest."""
        path, _, query = target.partition("?")
        return await self._call(REST, method, path, query, body, caller, headers)

    async def graphql(self, document: str, caller: Caller = SERVICE, **headers: str) -> Response:
        """Send a document to the pool graphql."""
        return await self._call(GRAPHQL, "POST", "/", "", {"query": document}, caller, headers)

    async def subscribe(self, path: str, document: str, caller: Caller) -> Response:
        """Send what the edge of subscriptions sends for a document."""
        return await self._call(GRAPHQL, METHOD, path, "", {"query": document}, caller, {})

    async def runs_on_replica(self, caller: Caller = SERVICE, **headers: str) -> bool:
        """Return whether a read of the caller runs on a replica."""
        response = await self.send("GET", "/place?select=is_replica", caller=caller, **headers)
        assert response.status == 200, response
        return bool(json.loads(response.body)[0]["is_replica"])

    async def until_fresh(self, count: int = 1) -> None:
        """Wait until so many replicas are in use, and have replayed what the primary has written."""
        assert self.resources.replicas is not None
        async with asyncio.timeout(60):
            while sum(one.fault is None for one in self.resources.replicas.replicas) != count:
                await asyncio.sleep(0.02)

    async def until_on_replica(self, **headers: str) -> None:
        """Wait until a read with these headers runs on a replica."""
        async with asyncio.timeout(60):
            while not await self.runs_on_replica(**headers):
                await asyncio.sleep(0.02)

    async def _call(self, subject, method, path, query, body, caller, headers) -> Response:  # type: ignore[no-untyped-def]  # what its callers above pass on
        data = b"" if body is None else json.dumps(body).encode()
        sent = [(name.replace("_", "-"), value) for name, value in headers.items()]
        request = Request(
            "test", method, path, query, sent, caller, body=data, caller_key=_key(caller), budget_ms=60_000
        )
        reply = await self.calls.call(subject, request)
        response: Response = reply.response
        return response


def _key(caller: Caller) -> str:
    return caller.claims.decode() if isinstance(caller, UserCaller) else "service"


def user(name: str) -> UserCaller:
    """Return a user of role `replicas_user`."""
    return UserCaller(json.dumps({"role": "replicas_user", "sub": name}).encode())


@contextlib.asynccontextmanager
async def replicated(
    nats: NatsServer,
    url: str,
    replicas: Sequence[OwnServer | int],
    *,
    max_lag: float = 30,
    roles: Sequence[str] = (),
) -> AsyncIterator[Replicated]:
    """Run the pools on the database `url` with replicas (servers, or ports at which they answer)."""
    ports = [one if isinstance(one, int) else one.port for one in replicas]
    settings = Settings(
        api=Api(
            schemas=["public"],
            extra_search_path=[],
            anon_role="replicas_anon",
            service_role="replicas_service",
        ),
        db=Db(
            url=Secret(as_role(url, LOGIN)),
            pool_size=4,
            replicas=Replicas(
                urls=Secret(" ".join(f"postgresql://127.0.0.1:{port}" for port in ports)),
                roles=list(roles),
                max_lag=Duration(max_lag),
            ),
        ),
        broker=Broker(url=Secret(nats.url)),
        pools=Pools(drain_timeout=10),
    )

    async def begin(process: ManagedProcess) -> Resources:
        resources = await open_resources(process, settings)
        await rest_pool.serve_pool(resources)
        await graphql_pool.serve_pool(resources)
        return resources

    async with lives(settings, begin) as resources:
        connection = await NatsConnection.open(nats.url, name="caller")
        writes = RecentWrites()
        writes.follow(connection)
        await connection.flush()
        try:
            yield Replicated(resources, Calls(connection), connection, writes)
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def standby_named(primary: OwnServer, name: str, **settings: str) -> AsyncIterator[Standby]:
    """Run a standby with a replication slot of its own name."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-standby-"))
    standby = Standby(folder, {})
    standby.name = standby.slot = name
    try:
        await standby.follow(primary)
        if settings:
            standby.stop()
            standby.settings |= settings
            await standby.start()
        yield standby
    finally:
        standby.stop()
        shutil.rmtree(folder, ignore_errors=True)
