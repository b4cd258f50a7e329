-- Extensions find the schemas that stand ready on the hosted platform, or move to another; the data API may require filters.
-- as: superuser

-- Dumps of hosted projects hold `create extension if not exists pgmq with schema pgmq` without the schema. It is created before
-- the server looks for it, with the rights of whoever runs the command.
create or replace function headwater.make_extension_schema() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  sent constant text := pg_catalog.current_query();
  own text;
begin
  foreach own in array array['pgmq', 'pgsodium', 'pgtle'] loop
    if sent ~* ('\mcreate\s+extension\s[^;]*\sschema\s+(?:' || own || '\M|"' || own || '")')
      and pg_catalog.to_regnamespace(own) is null
    then
      execute pg_catalog.format('create schema %I', own);
    end if;
  end loop;
end $$;
revoke all on function headwater.make_extension_schema() from public;

drop event trigger if exists headwater_extension_schemas;
create event trigger headwater_extension_schemas on ddl_command_start
  when tag in ('CREATE EXTENSION') execute function headwater.make_extension_schema();
alter event trigger headwater_extension_schemas enable always;

-- Move an extension of role postgres. The extension is the role's, but what its script made is the superuser's, so the server
-- refuses the role itself. Whoever calls this could as well drop the extension and create it in the other schema.
create or replace function headwater.move_extension(extension text, schema text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owner constant oid := (select extowner from pg_catalog.pg_extension where extname = extension);
begin
  if owner is null then
    raise exception 'extension "%" does not exist', extension using errcode = 'undefined_object';
  elsif not pg_catalog.pg_has_role('postgres', owner, 'usage') then
    raise exception 'must be owner of extension %', extension
      using errcode = 'insufficient_privilege',
        hint = 'The platform itself uses this extension where it is.';
  elsif pg_catalog.to_regnamespace(pg_catalog.quote_ident(schema)) is null then
    raise exception 'schema "%" does not exist', schema using errcode = 'invalid_schema_name';
  elsif not pg_catalog.has_schema_privilege('postgres', schema, 'create') then
    raise exception 'permission denied for schema %', schema using errcode = 'insufficient_privilege';
  end if;
  execute pg_catalog.format('alter extension %I set schema %I', extension, schema);
end $$;
revoke all on function headwater.move_extension(text, text) from public;
grant execute on function headwater.move_extension(text, text) to postgres;

-- `alter role authenticator set safeupdate.enabled = on`: the data API reads it (workers/database/schema_cache/database_options.sql).
do $$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres') then
    grant set on parameter safeupdate.enabled, pgrst.require_filters to postgres;
  end if;
end $$;
