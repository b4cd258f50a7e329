"""Which tables a live read follows: the plan that the edge asks for."""

import msgspec
import pytest

from schemas.http import Response
from schemas.settings.tree import Api
from schemas.subscriptions import METHOD, LiveQueryPlan
from tests.workers.database.introspection_fixtures import as_role, catalog_of, fresh_database, login_role
from tests.workers.rest.rest_pool import LOGIN, OPTIONS, RestPool
from workers.database.connection_pool.pool import ConnectionPool
from workers.rest.state import RestState

SCHEMA = """
create table team (id int primary key, name text);
create table member (team_id int references team, person text, primary key (team_id, person));
create table task (id int primary key, team_id int references team, body text, secret_id int);
create table tag (id int primary key, word text);
create table task_tag (task_id int references task, tag_id int references tag, primary key (task_id, tag_id));
create table hidden (id int primary key, person text);
create table unpublished (id int primary key, task_id int references task);
create view open_task as select * from task where body <> '';
create function is_member(wanted int) returns boolean language sql stable security definer as $$
  select exists (select from Member m where m.team_id = is_member.wanted and m.person = current_user) $$;
create function allowed() returns boolean language plpgsql stable as $$
begin perform is_member(1); return exists (select from "hidden"); end $$;
create function parsed(n int) returns boolean stable begin atomic select exists (select from tag where id = n); end;
create function tasks_of(person text) returns setof task language sql stable as 'select * from task';
create function count_tags() returns bigint language sql stable as 'select count(*) from tag';
create function upper_body(task) returns text language sql stable as 'select (select word from tag limit 1)';
create function computed_tags(task) returns setof tag language sql stable as 'select * from tag';
alter table task enable row level security;
create policy of_members on task for select using (is_member(team_id));
create policy writers on task for insert with check (exists (select from unpublished));
alter table team enable row level security;
create policy listed on team using (exists (select from hidden h where h.id = team.id) and parsed(1));
create publication supabase_realtime for table team, member, task, tag, task_tag;
"""
GRANTS = (
    "grant usage on schema public to rest_anon; grant select on all tables in schema public to rest_anon;"
)


@pytest.fixture(scope="module")
async def live_pool(server):
    roles = login_role(LOGIN, "rest_anon", "rest_user", "rest_service")
    async with fresh_database(server.url, roles, SCHEMA, GRANTS) as url:
        catalog = await catalog_of(as_role(url, LOGIN), ["public"])
        pool = await ConnectionPool.open(as_role(url, LOGIN), 2)
        api = Api(**OPTIONS)  # type: ignore[arg-type]  # names and values of the settings
        yield RestPool(pool, RestState(api, catalog), api)
        await pool.close()


def _tables(names: str) -> set[tuple[str, str]]:
    return {("public", name) for name in names.split()}


def plan_of(response: Response) -> LiveQueryPlan:
    assert response.status == 200, response
    return msgspec.msgpack.decode(response.body, type=LiveQueryPlan)


@pytest.mark.parametrize(
    ("target", "tables", "further", "is_repeated"),
    [
        ("/tag?select=word&id=gt.1&order=word", "tag", "", False),
        ("/task?select=id", "task", "member", False),  # its policy calls a function that names the table
        ("/open_task", "task", "member", False),  # the view reads the table
        ("/task?select=id,team(name),tag(word)", "task team tag task_tag", "member", True),
        ("/task?select=id,upper_body", "task", "member tag", False),
        ("/task?select=id,computed_tags(word)", "task tag", "member", False),
        (
            "/member?select=person,team!inner(name)&team.name=eq.a",
            "member team",
            "tag",
            True,
        ),  # hidden is not published
        ("/rpc/tasks_of?person=a", "task", "member", False),
        ("/rpc/count_tags", "", "tag", False),
        ("/rpc/allowed", "", "member", True),
    ],
)
async def test_a_read_follows_what_it_and_its_policies_read(
    live_pool: RestPool, target: str, tables: str, further: str, is_repeated: bool
) -> None:
    plan = plan_of(await live_pool.send(METHOD, target))

    assert set(map(tuple, plan.tables)) == _tables(tables)
    assert set(map(tuple, plan.further)) == _tables(further)
    assert plan.is_repeated is is_repeated


@pytest.mark.parametrize(
    ("target", "accept", "status", "message"),
    [
        ("/unpublished", "application/json", 400, 'alter publication supabase_realtime add table "public"."unpublished";'),
        ("/tag", "text/csv", 406, "application/json beside text/event-stream"),
        ("/", "application/json", 400, "Only reads"),
        ("/nothing", "application/json", 404, "public.nothing"),
        ("/rpc/is_member?none=1", "application/json", 404, "is_member"),
    ],
)  # fmt: skip
async def test_what_cannot_be_followed_is_refused_with_what_helps(
    live_pool: RestPool, target: str, accept: str, status: int, message: str
) -> None:
    response = await live_pool.send(METHOD, target, accept=accept)

    assert response.status == status
    assert message in msgspec.json.decode(response.body)["message"]
