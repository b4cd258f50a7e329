"""The database of a library with three roles, for the tests of reflection and introspection."""

import contextlib
from collections.abc import AsyncIterator

from tests.workers.database.introspection_fixtures import as_role, fresh_database, login_role
from workers.database.connection_pool.pool import ConnectionPool
from workers.graphql.model import Entity, RoleSchema
from workers.graphql.reflect.build import build
from workers.graphql.reflect.read import read
from workers.graphql.reflect.rows import CatalogSnapshot

LOGIN, READER, EDITOR, MEMBER, UNPRIVILEGED = (
    "gql_login",
    "gql_reader",
    "gql_editor",
    "gql_member",
    "gql_stranger",
)
SCHEMAS = ("library", "archive", "missing")

LIBRARY = """
create schema library;
create schema archive;
create schema cellar;
comment on schema library is 'Books. @graphql({"inflect_names": true, "max_rows": 50})';
comment on schema archive is '@graphql({"introspection": false})';

create type library.shelf_mark as enum ('floor-one', 'floor_two');
comment on type library.shelf_mark is '@graphql({"name": "Shelf", "mappings": {"floor-one": "FLOOR_ONE"}})';
create type library.secret_mark as enum ('x');
create type cellar.cellar_mark as enum ('y');
create type library.dimensions as (width int, height int);
create domain library.title as varchar(40) check (value <> '');

create table library.writer (
  writer_id bigint generated always as identity primary key,
  full_name text not null,
  born date
);
comment on table library.writer is '@graphql({
  "totalCount": {"enabled": true}, "aggregate": {"enabled": true}, "description": "Who writes", "max_rows": 7
})';
comment on column library.writer.full_name is '@graphql({"name": "fullName", "description": "As printed"})';

create table library.book_copy (
  id int primary key,
  title library.title not null,
  writer_id bigint not null references library.writer,
  editor_id bigint references library.writer,
  shelf library.shelf_mark,
  secret library.secret_mark,
  cellar cellar.cellar_mark,
  marks library.shelf_mark[],
  secrets library.secret_mark[],
  size library.dimensions,
  price numeric(8, 2),
  code char(4),
  extra jsonb,
  tags text[],
  label text generated always as ('book ' || title) stored,
  is_lent boolean,
  "odd name" int,
  unique (title, writer_id)
);
comment on constraint book_copy_editor_id_fkey on library.book_copy
  is '@graphql({"foreign_name": "editor", "local_name": "edited"})';
create table library.loan (
  book_id int primary key references library.book_copy,
  day date not null
);
alter table library.loan enable row level security;
create table library.return_slip (
  id int primary key,
  loan_id int not null unique references library.loan (book_id),
  note_id int
);
create table library.sheet (page int, line int, words text, primary key (page, line));
create table library.word (
  id int primary key, page int, line int, foreign key (page, line) references library.sheet
);
create table library.keyless (id int);
create table library."half name"(id int primary key);
create table library."rescued name"(id int primary key);
comment on table library."rescued name" is '@graphql({"name": "Rescued"})';
create table library.nameless_key("the key" int primary key, note text);
create table library.book_edge_case (id uuid primary key, at timestamptz default now());

create view library.young_writer as select writer_id, full_name from library.writer where born > '1990-01-01';
comment on view library.young_writer is '@graphql({
  "primary_key_columns": ["writer_id"],
  "foreign_keys": [
    {"local_columns": ["writer_id"], "foreign_schema": "library", "foreign_table": "writer",
     "foreign_columns": ["writer_id"], "local_name": "youth", "foreign_name": "self"},
    {"local_columns": ["writer_id"], "foreign_schema": "library", "foreign_table": "nothing", "foreign_columns": ["x"]}
  ]
})';
create view library.writer_count as select count(*) as n from library.writer;
comment on view library.writer_count is '@graphql({"primary_key_columns": ["n"]})';
create view library.mistaken as select 1 as one;
comment on view library.mistaken is '@graphql({"primary_key_columns": ["one", "two"]})';

create table archive.box (id int primary key, "blogPost" text, "parentId" int references archive.box);
create table archive.measured (id int primary key, days int generated always as identity, hours serial);

create function library._initials(writer library.writer) returns text language sql stable as 'select $1.full_name';
create function library.first_books(library.writer) returns setof library.book_copy language sql stable as
  'select * from library.book_copy where writer_id = $1.writer_id';
create function library.last_book(library.writer) returns setof library.book_copy rows 1 language sql stable as
  'select * from library.book_copy where writer_id = $1.writer_id limit 1';
create function library.pair(library.writer) returns table (a int, b int) language sql stable as 'select 1, 2';
create function library.add_up(a int, "bTerm" int default 5, note text default 'it''s', rate float8 default 1.5,
  deep boolean default true, late date default now(), total int default 1 + 1, empty text default null)
  returns bigint language sql immutable as 'select 1::bigint';
create function library.move_shelf(id int) returns library.book_copy language sql volatile as
  'select * from library.book_copy limit 1';
create function library.many_books(wanted int) returns setof library.book_copy language sql stable as
  'select * from library.book_copy';
create function library.paged_books(first int) returns setof library.book_copy language sql stable as
  'select * from library.book_copy';
create function library.numbers() returns setof int language sql stable as 'select 1';
create function library.twice(a int) returns int language sql stable as 'select 1';
create function library.twice(a text) returns int language sql stable as 'select 1';
create function library.nameless(int) returns int language sql stable as 'select 1';
create function library.many(variadic a int[]) returns int language sql stable as 'select 1';
create function library.with_mark(mark library.shelf_mark) returns int language sql stable as 'select 1';
create function library.hidden_mark(mark cellar.cellar_mark) returns int language sql stable as 'select 1';
create function library.give_mark() returns library.shelf_mark language sql stable as 'select null::library.shelf_mark';
create function library.nothing() returns void language sql as '';
create function library.writer_collection() returns int language sql stable as 'select 1';
create function library.loan() returns int language sql stable as 'select 1';
create function library.out_of(a int, out b int) language sql stable as 'select 1';
create function library.kept_back() returns int language sql stable as 'select 1';
revoke execute on function library.kept_back from public;
comment on function library.numbers is 'plain words (no directive)';
comment on function library.move_shelf is '@graphql({"name": "shelve", "description": "Move it"})';
"""

GRANTS = f"""
grant usage on schema library, archive, cellar to {READER}, {EDITOR};
grant all on all tables in schema library, archive to {EDITOR};
grant select on all tables in schema library to {READER};
revoke select on library.book_copy from {READER};
grant select (id, title, writer_id, shelf) on library.book_copy to {READER};
grant insert (title) on library.book_copy to {READER};
revoke select on library.sheet from {READER};
grant select (page, words) on library.sheet to {READER};
revoke all on type library.secret_mark from public;
grant {EDITOR} to {MEMBER};
"""


@contextlib.asynccontextmanager
async def library(server_url: str, *more: str) -> AsyncIterator[ConnectionPool]:
    """Return connections of the login role to a database with the library and what other scripts add."""
    roles = login_role(LOGIN, READER, EDITOR, MEMBER, UNPRIVILEGED)
    async with fresh_database(server_url, roles, LIBRARY, GRANTS, *more) as url:
        pool = await ConnectionPool.open(as_role(url, LOGIN), 1)
        yield pool
        await pool.close()


async def library_snapshot(server_url: str, *more: str) -> CatalogSnapshot:
    """Read the catalogs of the library database."""
    async with library(server_url, *more) as pool:
        return await read(pool, SCHEMAS)


def schema_for(snapshot: CatalogSnapshot, role: str = EDITOR) -> RoleSchema:
    """Return the schema of a role."""
    return build(snapshot, role, 3)


def entity(schema: RoleSchema, name: str, space: str = "library") -> Entity:
    """Return one entity."""
    return schema.entities[space, name]
