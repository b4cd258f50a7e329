-- What the platform calls stands in schema headwater, where no project can drop or replace it, and its event triggers fire always.
-- as: superuser

-- Before, these functions stood in schema extensions, which belongs to role postgres: `drop function ... cascade` there took the
-- event triggers along. And an event trigger that fires only for `session_replication_role = origin` is switched off by role
-- postgres, which may set that.

-- Mark a change of the schema in the log, in the order of commits: rows are judged by policies that are at least as new as
-- they. Until others can see the commit, the transaction holds a lock that excludes nobody (realtime.schema_known).
create or replace function headwater.mark_schema() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_event = 'sql_drop' then
    if not exists (select from pg_catalog.pg_event_trigger_dropped_objects() as gone where not gone.is_temporary) then
      return;
    end if;
  elsif not exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() as done where done.schema_name is distinct from 'pg_temp'
  ) then
    return;
  end if;
  perform pg_catalog.pg_advisory_xact_lock_shared(1751474797, 1);
  perform pg_catalog.pg_logical_emit_message(true, 'headwater', 'schema');
end $$;

-- DDL is published to the schema caches: `notify pgrst, 'reload schema'`. Temporary objects do not matter to them.
create or replace function headwater.watch_changes() returns event_trigger
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
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end $$;

create or replace function headwater.watch_drops() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from pg_catalog.pg_event_trigger_dropped_objects() as gone
    where gone.object_type in (
        'schema', 'table', 'foreign table', 'view', 'materialized view', 'function', 'trigger', 'type', 'rule',
        'aggregate', 'cast', 'table column', 'table constraint', 'domain constraint', 'view column')
      and not gone.is_temporary
  ) then
    perform pg_catalog.pg_notify('pgrst', 'reload schema');
  end if;
end $$;

-- After CREATE EXTENSION of pg_cron, pg_net or pg_graphql their schemas are opened to the roles that use them. GRANT runs no
-- code of whoever owns what it names.
create or replace function headwater.grant_on_extension() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  made text;
begin
  for made in
    select extname from pg_catalog.pg_event_trigger_ddl_commands() as done
    join pg_catalog.pg_extension on pg_extension.oid = done.objid
    where done.classid = 'pg_catalog.pg_extension'::pg_catalog.regclass
  loop
    if made = 'pg_cron' and pg_catalog.to_regnamespace('cron') is not null then
      grant usage on schema cron to postgres with grant option;
      grant all on all functions in schema cron to postgres with grant option;
      grant all on all sequences in schema cron to postgres with grant option;
      grant select on all tables in schema cron to postgres with grant option;
      grant delete on all tables in schema cron to postgres with grant option;
      if pg_catalog.to_regclass('cron.job') is not null then
        revoke delete on table cron.job from postgres;
      end if;
    elsif made = 'pg_net' and pg_catalog.to_regnamespace('net') is not null then
      grant usage on schema net to postgres, anon, authenticated, service_role, supabase_functions_admin;
      grant execute on all functions in schema net
        to postgres, anon, authenticated, service_role, supabase_functions_admin;
      grant select on all tables in schema net to postgres with grant option;
    elsif made = 'pg_graphql' and pg_catalog.to_regnamespace('graphql') is not null then
      grant usage on schema graphql to postgres, anon, authenticated, service_role;
      grant execute on all functions in schema graphql to postgres, anon, authenticated, service_role;
    end if;
  end loop;
end $$;

-- Give a publication of all tables or an event trigger to role postgres: only a superuser may own one, so the role is one for
-- the statement that gives. Why nobody can use that: both changes of the role are in the transaction of the caller, so no other
-- session ever sees the first without the second; in this session the one statement between them runs no code but the
-- server's own. ALTER EVENT TRIGGER fires no event trigger; for ALTER PUBLICATION they are off, and where the server has no
-- such setting (before Postgres 17) those of role postgres are guarded copies (headwater.copy_event_function), which do nothing
-- for a superuser, and the owner of this function is one. An error undoes all of it.
create or replace function headwater.give_to_postgres(kind text, name text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was_super constant boolean := (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres');
  triggers constant text := pg_catalog.current_setting('event_triggers', true);  -- unknown before Postgres 17
begin
  if kind not in ('publication', 'event trigger') then
    raise exception 'nothing of kind "%" is given', kind using errcode = 'invalid_parameter_value';
  end if;
  lock table pg_catalog.pg_authid in share row exclusive mode;  -- one at a time; readers, and so logins, go on
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', 'off', true);
  end if;
  if not was_super then
    alter role postgres superuser;
  end if;
  execute pg_catalog.format('alter %s %I owner to postgres', kind, name);
  if not was_super then
    alter role postgres nosuperuser;
  end if;
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', triggers, true);
  end if;
end $$;

-- Make a publication of all tables; `options` are names and values in turn.
create or replace function headwater.publish_all_tables(publication text, options text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  listed text := '';
begin
  for at in 1 .. coalesce(pg_catalog.array_length(options, 1), 0) by 2 loop
    listed := pg_catalog.concat_ws(', ', nullif(listed, ''), pg_catalog.format('%I = %L', options[at], options[at + 1]));
  end loop;
  execute pg_catalog.format('create publication %I for all tables', publication)
    || case when listed = '' then '' else pg_catalog.format(' with (%s)', listed) end;
  perform headwater.give_to_postgres('publication', publication);
end $$;

-- Copy a function of role postgres's for an event trigger, and return the copy's name.
--
-- The function itself must not be called: whoever owns it could make it do anything with the rights of a superuser who
-- creates a table, or of an extension's script. The copy is ours, has the rights of whoever is at work, and does nothing
-- where that is a superuser, or a superuser's session that has set another role: `reset role` is open to all code in it. What
-- the copy asks first is spelled out, for its search path is the project's.
create or replace function headwater.copy_event_function(original oid) returns text
language plpgsql set search_path = pg_catalog, pg_temp set check_function_bodies = on as $$
declare
  copy constant text := headwater.event_copy_name(original);
  guard constant text := 'if exists (select from pg_catalog.pg_roles where rolsuper and (rolname operator(pg_catalog.=) '
    'current_user or rolname operator(pg_catalog.=) session_user)) then return; end if;';
  found record;
  options text;
  block text;
  path text;
  head constant text := 'create or replace function headwater.%I() returns pg_catalog.event_trigger language plpgsql '
    'set search_path from current as %L';
  alone text;
  with_end text;
  without_end text;
begin
  select prosrc, lanname, prorettype, proowner, proconfig into found
  from pg_catalog.pg_proc join pg_catalog.pg_language on pg_language.oid = prolang
  where pg_proc.oid = original;
  if found.prorettype is distinct from 'pg_catalog.event_trigger'::pg_catalog.regtype or found.lanname <> 'plpgsql' then
    raise exception 'an event trigger of role postgres calls a PL/pgSQL function that returns event_trigger'
      using errcode = 'feature_not_supported';
  elsif not pg_catalog.pg_has_role('postgres', found.proowner, 'usage') then
    raise exception 'the function of an event trigger must be owned by role postgres'
      using errcode = 'insufficient_privilege';
  end if;
  options := coalesce(pg_catalog.substring(found.prosrc,
    '^(?:\s*#(?:variable_conflict (?:error|use_variable|use_column)|print_strict_params (?:on|off))[ \t\r]*\n)*'), '');
  block := pg_catalog.substr(found.prosrc, pg_catalog.length(options) + 1);
  path := coalesce(
    (
      select pg_catalog.substr(setting, 13) from pg_catalog.unnest(found.proconfig) as setting
      where pg_catalog.starts_with(setting, 'search_path=')
    ),
    '"$user", public, extensions'
  );
  -- A body that is whole by itself is one block, and stays one inside of ours: it has no end of ours to bring forward, and no
  -- handler to give to our question.
  alone := pg_catalog.format(head, copy || '_alone', found.prosrc);
  with_end := pg_catalog.format(head, copy, pg_catalog.concat(options, E'begin\n', guard, E'\n', block, E'\n;\nend'));
  without_end := pg_catalog.format(head, copy, pg_catalog.concat(options, E'begin\n', guard, E'\n', block, E'\nend'));
  -- From here to the next change of the path no name and no operator may stand here that is looked up in it.
  perform pg_catalog.set_config('search_path', path, true);
  execute alone;
  begin
    execute with_end;
  exception when syntax_error then  -- the function has a semicolon behind its end
    execute without_end;
  end;
  perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  execute pg_catalog.format('drop function headwater.%I()', copy || '_alone');
  execute pg_catalog.format('revoke all on function headwater.%I() from public', copy);
  return copy;
end $$;

-- Make an event trigger; it calls a copy of the function, which follows the function when that is replaced.
create or replace function headwater.create_event_trigger(
  trigger_name text, event text, tags text[], original oid
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  filter constant text := (select pg_catalog.string_agg(pg_catalog.quote_literal(tag), ', ') from pg_catalog.unnest(tags) as tag);
begin
  if event not in ('ddl_command_start', 'ddl_command_end', 'sql_drop', 'table_rewrite') then
    raise exception 'role postgres may not make event triggers on %: it could lock the platform out', event
      using errcode = 'insufficient_privilege';
  end if;
  execute pg_catalog.format('create event trigger %I on %I', trigger_name, event)
    || coalesce(' when tag in (' || filter || ')', '')
    || pg_catalog.format(' execute function headwater.%I()', headwater.copy_event_function(original));
  perform headwater.give_to_postgres('event trigger', trigger_name);
end $$;

-- Copies that are there get the new question, whether or not their functions still are.
do $$
declare
  old constant text := 'if (select rolsuper from pg_catalog.pg_roles where rolname operator(pg_catalog.=) current_user) '
    'then return; end if;';
  guard constant text := 'if exists (select from pg_catalog.pg_roles where rolsuper and (rolname operator(pg_catalog.=) '
    'current_user or rolname operator(pg_catalog.=) session_user)) then return; end if;';
  names text[];
  paths text[];
  texts text[];
begin
  perform pg_catalog.set_config('check_function_bodies', 'off', true);
  select
    pg_catalog.array_agg(proname::text),
    pg_catalog.array_agg(
      (select pg_catalog.substr(setting, 13) from pg_catalog.unnest(proconfig) as setting
      where pg_catalog.starts_with(setting, 'search_path='))),
    pg_catalog.array_agg(pg_catalog.format(
      'create or replace function headwater.%I() returns pg_catalog.event_trigger language plpgsql '
      'set search_path from current as %L', proname, pg_catalog.replace(prosrc, old, guard)))
  into names, paths, texts
  from pg_catalog.pg_proc
  where pronamespace = 'headwater'::pg_catalog.regnamespace
    and pg_catalog.starts_with(proname, 'event_')
    and prorettype = 'pg_catalog.event_trigger'::pg_catalog.regtype
    and pg_catalog.strpos(prosrc, old) > 0;
  for place in 1 .. coalesce(pg_catalog.cardinality(names), 0) loop
    -- As in copy_event_function: nothing between these two lines is looked up in the path.
    perform pg_catalog.set_config('search_path', paths[place], true);
    execute texts[place];
    perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  end loop;
  perform pg_catalog.set_config('check_function_bodies', 'on', true);
end $$;

revoke all on function
  headwater.mark_schema(), headwater.watch_changes(), headwater.watch_drops(), headwater.grant_on_extension(),
  headwater.give_to_postgres(text, text), headwater.copy_event_function(oid),
  headwater.publish_all_tables(text, text[]), headwater.create_event_trigger(text, text, text[], oid)
from public;
grant usage on schema headwater to postgres;
grant execute on function
  headwater.publish_all_tables(text, text[]), headwater.create_event_trigger(text, text, text[], oid)
to postgres;

drop event trigger if exists headwater_mark_changes;
drop event trigger if exists headwater_mark_drops;
drop event trigger if exists pgrst_ddl_watch;
drop event trigger if exists pgrst_drop_watch;
drop event trigger if exists headwater_extension_grants;
create event trigger headwater_mark_changes on ddl_command_end execute function headwater.mark_schema();
create event trigger headwater_mark_drops on sql_drop execute function headwater.mark_schema();
create event trigger pgrst_ddl_watch on ddl_command_end execute function headwater.watch_changes();
create event trigger pgrst_drop_watch on sql_drop execute function headwater.watch_drops();
create event trigger headwater_extension_grants on ddl_command_end
  when tag in ('CREATE EXTENSION') execute function headwater.grant_on_extension();
alter event trigger headwater_mark_changes enable always;
alter event trigger headwater_mark_drops enable always;
alter event trigger pgrst_ddl_watch enable always;
alter event trigger pgrst_drop_watch enable always;
alter event trigger headwater_extension_grants enable always;
alter event trigger headwater_follow_event_functions enable always;

-- The old ones go. What of a project's depends on one of them, or stands in its place, stays.
do $$
declare
  old text;
begin
  foreach old in array array[
    'extensions.headwater_mark_schema()', 'extensions.pgrst_ddl_watch()', 'extensions.pgrst_drop_watch()',
    'extensions.grant_on_extension()', 'extensions.headwater_publish_all_tables(text, text[])',
    'extensions.headwater_create_event_trigger(text, text, text[], oid)', 'headwater.hand_over(text)'
  ] loop
    if exists (
      select from pg_catalog.pg_proc join pg_catalog.pg_roles on pg_roles.oid = proowner
      where pg_proc.oid = pg_catalog.to_regprocedure(old)::pg_catalog.oid and rolsuper
    ) then
      begin
        execute 'drop function ' || old;
      exception when dependent_objects_still_exist then
        null;
      end;
    end if;
  end loop;
end $$;
