-- The history of a project's migrations and seeds, in the tables of the official tool (history.py).

-- name: exists
-- Whether there is a history at all: of migrations, of seeds.
select
  pg_catalog.to_regclass('supabase_migrations.schema_migrations') is not null as migrations,
  pg_catalog.to_regclass('supabase_migrations.seed_files') is not null as seeds

-- name: make
-- Creates the tables of the official tool, and adds columns that older ones lack.
set lock_timeout = '4s';
create schema if not exists supabase_migrations;
create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
alter table supabase_migrations.schema_migrations add column if not exists statements text[];
alter table supabase_migrations.schema_migrations add column if not exists name text;
create table if not exists supabase_migrations.seed_files (path text not null primary key, hash text not null);
reset lock_timeout

-- name: applied
select version from supabase_migrations.schema_migrations order by version

-- name: applied_with_names
select version, pg_catalog.to_jsonb(migration) ->> 'name' as name
from supabase_migrations.schema_migrations as migration
order by version

-- name: stored
-- With their statements; older tables have neither names nor statements.
select version, pg_catalog.to_jsonb(migration) ->> 'name' as name,
  array(select pg_catalog.jsonb_array_elements_text(
    case when pg_catalog.jsonb_typeof(pg_catalog.to_jsonb(migration) -> 'statements') = 'array'
      then pg_catalog.to_jsonb(migration) -> 'statements' else '[]' end)) as statements
from supabase_migrations.schema_migrations as migration
order by version

-- name: record
insert into supabase_migrations.schema_migrations (version, name, statements) values ($1, $2, $3)

-- name: mark_applied
insert into supabase_migrations.schema_migrations (version, name, statements) values ($1, $2, $3)
on conflict (version) do update set name = excluded.name, statements = excluded.statements

-- name: mark_reverted
delete from supabase_migrations.schema_migrations where version = any($1::text[])

-- name: forget_all
delete from supabase_migrations.schema_migrations

-- name: seeds
select path, hash from supabase_migrations.seed_files

-- name: record_seed
insert into supabase_migrations.seed_files (path, hash) values ($1, $2)
on conflict (path) do update set hash = excluded.hash

-- name: lock
-- One process at a time works on a project's database, until its connection closes.
select pg_catalog.pg_advisory_lock($1)
