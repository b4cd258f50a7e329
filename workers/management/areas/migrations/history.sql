-- The history of migrations (supabase_migrations.schema_migrations) for administrators.

-- name: exists
select to_json(pg_catalog.to_regclass('supabase_migrations.schema_migrations') is not null)

-- name: stored
-- One JSON value a row. Older tables have neither names nor statements.
select pg_catalog.json_build_object('version', version,
  'name', coalesce(pg_catalog.to_jsonb(migration) operator(pg_catalog.->>) 'name', ''),
  'statements', case when pg_catalog.jsonb_typeof(pg_catalog.to_jsonb(migration) operator(pg_catalog.->) 'statements') operator(pg_catalog.=) 'array'
    then pg_catalog.to_jsonb(migration) operator(pg_catalog.->) 'statements' else '[]'::pg_catalog.jsonb end)
from supabase_migrations.schema_migrations as migration
order by version

-- name: make
create schema if not exists supabase_migrations

-- name: make_table
create table if not exists supabase_migrations.schema_migrations
  (version text not null primary key, statements text[], name text)

-- name: mark_applied
-- $1: version, $2: name, $3: statements as a JSON array.
insert into supabase_migrations.schema_migrations (version, name, statements)
values ($1, $2, array(select pg_catalog.json_array_elements_text($3::pg_catalog.json)))
on conflict (version) do update set name = excluded.name, statements = excluded.statements

-- name: mark_reverted
delete from supabase_migrations.schema_migrations where version operator(pg_catalog.=) $1
