-- Statements of continuous backup and of a restore for a session of role postgres: even reading a project's table may run its code.

-- name: new_versions
-- versions of objects whose rows changed since a moment, and the moment of the next question.
select bucket_id, version, pg_catalog.now() as now from storage.objects
where version is not null and updated_at >= $1

-- name: versions
-- every version that a row names.
select bucket_id, version::pg_catalog.text as version from storage.objects where version is not null

-- name: migrations
-- the project's migrations, each with the transaction that wrote its row.
select version::pg_catalog.text as version, coalesce(name, '')::pg_catalog.text as name, xmin::pg_catalog.text as transaction
from supabase_migrations.schema_migrations order by version

-- name: has_migrations
select pg_catalog.to_regclass('supabase_migrations.schema_migrations') is not null

-- name: counts
-- how much a recovered database has.
select (select pg_catalog.count(*) from auth.users) as users,
  (select pg_catalog.count(*) from pg_catalog.pg_class c where c.relkind in ('r', 'p')
    and c.relnamespace operator(pg_catalog.=) pg_catalog.to_regnamespace('public')) as tables
