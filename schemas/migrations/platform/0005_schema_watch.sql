-- DDL tells the schema caches: `notify pgrst, 'reload schema'`. Temporary objects do not matter to them.
-- as: superuser

create or replace function extensions.pgrst_ddl_watch() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() as done
    where done.command_tag in (
        'CREATE SCHEMA', 'ALTER SCHEMA', 'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
        'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE MATERIALIZED VIEW',
        'ALTER MATERIALIZED VIEW', 'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE TRIGGER', 'CREATE TYPE', 'ALTER TYPE',
        'CREATE DOMAIN', 'ALTER DOMAIN', 'CREATE AGGREGATE', 'ALTER AGGREGATE', 'CREATE CAST', 'CREATE RULE',
        'COMMENT', 'GRANT', 'REVOKE')
      and done.schema_name is distinct from 'pg_temp'
  ) then
    notify pgrst, 'reload schema';
  end if;
end $$;

create or replace function extensions.pgrst_drop_watch() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from pg_catalog.pg_event_trigger_dropped_objects() as gone
    where gone.object_type in (
        'schema', 'table', 'foreign table', 'view', 'materialized view', 'function', 'trigger', 'type', 'rule',
        'aggregate', 'cast', 'table column', 'table constraint', 'domain constraint', 'view column')
      and not gone.is_temporary
  ) then
    notify pgrst, 'reload schema';
  end if;
end $$;

drop event trigger if exists pgrst_ddl_watch;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
drop event trigger if exists pgrst_drop_watch;
create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_drop_watch();
