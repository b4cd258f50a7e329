-- Statements of operations on the project's database (project_database.py).

-- name: has_history
select pg_catalog.to_regclass('supabase_migrations.schema_migrations') is not null

-- name: history
-- An older table of the official tool has no column `name`.
select pg_catalog.jsonb_build_object(
  'version', migration.version,
  'name', coalesce(pg_catalog.to_jsonb(migration) ->> 'name', ''))
from supabase_migrations.schema_migrations as migration
order by migration.version
