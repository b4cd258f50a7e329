"""The database of a shop, for the tests of our additions."""

from collections.abc import AsyncIterator

from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from tests.workers.graphql.graphql_service import ANON, LOGIN, MEMBER, SERVICE, GraphQLService
from workers.database.connection_pool.pool import ConnectionPool

SHOP = """
comment on schema public is '@graphql({"inflect_names": true, "additions": true})';
create table customer (
  id int generated always as identity primary key, email text not null constraint one_email unique, city text, visits int default 0
);
create type state as enum ('open', 'paid-up');
comment on type state is '@graphql({"mappings": {"paid-up": "PAID_UP"}})';
create table sale (
  id int generated always as identity primary key, customer_id int not null references customer,
  state state not null default 'open', total numeric not null, is_gift boolean, at timestamptz not null default '2026-01-05T10:00:00Z'
);
comment on constraint sale_customer_id_fkey on sale is '@graphql({"local_name": "sales"})';
comment on table sale is '@graphql({"totalCount": {"enabled": true}, "aggregate": {"enabled": true}})';
create table line (
  sale_id int references sale on delete cascade, number int, item text not null, primary key (sale_id, number)
);
create table address (customer_id int primary key references customer, street text not null);
create table secret_sale (id int primary key, customer_id int references customer, owner text not null);
alter table secret_sale enable row level security;
create policy own on secret_sale to graphql_member using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
create table account (id int generated always as identity primary key, owner text not null);
create table post (id int generated always as identity primary key, account_id int not null references account, title text not null);
alter table account enable row level security;
alter table post enable row level security;
create policy own on account to graphql_member using (owner = current_setting('request.jwt.claims')::json ->> 'sub');
create policy own on post to graphql_member using (account_id in (select id from account));
create table fickle (id int generated always as identity primary key, name text);
create table follower (id int generated always as identity primary key, fickle_id int not null references fickle);
create function swallow() returns trigger language plpgsql as $$ begin return case when new.name = 'gone' then null else new end; end $$;
create trigger swallow before insert on fickle for each row execute function swallow();

insert into customer (email, city) values ('ada@x.com', 'Rome'), ('bob@x.com', 'Oslo'), ('cleo@x.com', 'Rome'), ('dan@x.com', null);
insert into sale (customer_id, state, total, is_gift) values (1, 'open', 10, true), (1, 'paid-up', 30, false), (2, 'open', 5, false), (3, 'paid-up', 100, true);
insert into line values (1, 1, 'mug'), (2, 1, 'lamp'), (2, 2, 'rug'), (4, 1, 'rug');
insert into address values (1, 'Via Sacra'), (2, 'Karl Johans gate');
insert into secret_sale values (1, 1, 'ada'), (2, 2, 'bob');
insert into account (owner) values ('bob');
"""
GRANTS = """
grant usage on schema public to graphql_anon, graphql_member, graphql_service;
grant all on all tables in schema public to graphql_member, graphql_service;
grant select on customer, sale to graphql_anon;
revoke select on line from graphql_member;
grant select (sale_id, number) on line to graphql_member;
revoke update on customer from graphql_member;
grant update (visits) on customer to graphql_member;
alter role graphql_service bypassrls;
"""


async def open_shop(server_url: str, **options: object) -> AsyncIterator[GraphQLService]:
    """Yield a worker with its own shop database."""
    roles = login_role(LOGIN, ANON, MEMBER, SERVICE)
    async with fresh_database(server_url, roles, SHOP, GRANTS) as url:
        pool = await ConnectionPool.open(as_role(url, LOGIN), 4)
        yield GraphQLService.make(pool, **options)
        await pool.close()
