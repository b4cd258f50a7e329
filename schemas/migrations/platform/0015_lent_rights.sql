-- What only a superuser may do is done for role postgres, and given to it: publications of all tables, event triggers.
-- as: superuser

-- Run a statement that gives something to role postgres which only a superuser may own: it is one for this statement alone.
-- No other session sees that, for it ends in the same transaction, and no code of the project's runs meanwhile.
create or replace function headwater.hand_over(statement text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  was_super constant boolean := (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres');
  triggers constant text := pg_catalog.current_setting('event_triggers', true);  -- unknown before Postgres 17
begin
  lock table pg_catalog.pg_authid in share row exclusive mode;  -- one at a time; readers, and so logins, go on
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', 'off', true);
  end if;
  if not was_super then
    alter role postgres superuser;
  end if;
  execute statement;
  if not was_super then
    alter role postgres nosuperuser;
  end if;
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', triggers, true);
  end if;
end $$;

-- Make a publication of all tables; `options` are names and values in turn.
create or replace function extensions.headwater_publish_all_tables(publication text, options text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  told text := '';
begin
  for at in 1 .. coalesce(pg_catalog.array_length(options, 1), 0) by 2 loop
    told := pg_catalog.concat_ws(', ', nullif(told, ''), pg_catalog.format('%I = %L', options[at], options[at + 1]));
  end loop;
  execute pg_catalog.format('create publication %I for all tables', publication)
    || case when told = '' then '' else pg_catalog.format(' with (%s)', told) end;
  perform headwater.hand_over(pg_catalog.format('alter publication %I owner to postgres', publication));
end $$;

-- Give the name of the copy of an event trigger's function: dumps and restores keep it, for it is made of the name.
create or replace function headwater.event_copy_name(original oid) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select 'event_' || pg_catalog.md5(pg_catalog.format('%I.%I', nspname, proname))
  from pg_catalog.pg_proc join pg_catalog.pg_namespace on pg_namespace.oid = pronamespace
  where pg_proc.oid = original
$$;

-- Copy a function of role postgres's for an event trigger, and give the copy's name.
--
-- The function itself must not be called: whoever owns it could make it do anything with the rights of a superuser who
-- creates a table, or of an extension's script. The copy is ours, has the rights of whoever is at work, and does nothing
-- where that is a superuser. What it asks first is spelled out, for its search path is the project's.
create or replace function headwater.copy_event_function(original oid) returns text
language plpgsql set search_path = pg_catalog, pg_temp set check_function_bodies = on as $$
declare
  copy constant text := headwater.event_copy_name(original);
  guard constant text := 'if (select rolsuper from pg_catalog.pg_roles where rolname operator(pg_catalog.=) current_user) '
    'then return; end if;';
  found record;
  options text;
  block text;
  path text;
  head constant text := 'create or replace function headwater.%I() returns event_trigger language plpgsql '
    'set search_path from current as %L';
  alone text;
  with_end text;
  without_end text;
begin
  select prosrc, lanname, prorettype, proowner, proconfig into found
  from pg_proc join pg_language on pg_language.oid = prolang
  where pg_proc.oid = original;
  if found.prorettype is distinct from 'pg_catalog.event_trigger'::regtype or found.lanname <> 'plpgsql' then
    raise exception 'an event trigger of role postgres calls a PL/pgSQL function that returns event_trigger'
      using errcode = 'feature_not_supported';
  elsif not pg_has_role('postgres', found.proowner, 'usage') then
    raise exception 'the function of an event trigger must be owned by role postgres'
      using errcode = 'insufficient_privilege';
  end if;
  options := coalesce(substring(found.prosrc,
    '^(?:\s*#(?:variable_conflict (?:error|use_variable|use_column)|print_strict_params (?:on|off))[ \t\r]*\n)*'), '');
  block := substr(found.prosrc, length(options) + 1);
  path := coalesce(
    (select substr(setting, 13) from unnest(found.proconfig) as setting where starts_with(setting, 'search_path=')),
    '"$user", public, extensions'
  );
  -- A body that is whole by itself is one block, and stays one inside of ours: it has no end of ours to bring forward, and no
  -- handler to give to our question.
  alone := format(head, copy || '_alone', found.prosrc);
  with_end := format(head, copy, concat(options, E'begin\n', guard, E'\n', block, E'\n;\nend'));
  without_end := format(head, copy, concat(options, E'begin\n', guard, E'\n', block, E'\nend'));
  -- From here to the next change of the path no name and no operator may stand here that is looked up in it.
  perform pg_catalog.set_config('search_path', path, true);
  execute alone;
  begin
    execute with_end;
  exception when syntax_error then  -- the function has a semicolon behind its end
    execute without_end;
  end;
  perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  execute format('drop function headwater.%I()', copy || '_alone');
  execute format('revoke all on function headwater.%I() from public', copy);
  return copy;
end $$;

-- Make an event trigger; it calls a copy of the function, which follows the function when that is replaced.
create or replace function extensions.headwater_create_event_trigger(
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
  perform headwater.hand_over(pg_catalog.format('alter event trigger %I owner to postgres', trigger_name));
end $$;

-- Bring the copies up to date when their functions are replaced.
create or replace function headwater.follow_event_functions() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed oid;
begin
  for changed in
    select distinct done.objid from pg_catalog.pg_event_trigger_ddl_commands() as done
    join pg_catalog.pg_proc on pg_proc.oid = done.objid
    where done.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
      and prorettype = 'pg_catalog.event_trigger'::pg_catalog.regtype
      and pronamespace <> 'headwater'::pg_catalog.regnamespace
      and pg_catalog.pg_has_role('postgres', proowner, 'usage')
  loop
    if pg_catalog.to_regproc('headwater.' || headwater.event_copy_name(changed)) is not null then
      perform headwater.copy_event_function(changed);
    end if;
  end loop;
end $$;

revoke all on function
  headwater.hand_over(text), headwater.event_copy_name(oid), headwater.copy_event_function(oid),
  headwater.follow_event_functions(), extensions.headwater_publish_all_tables(text, text[]),
  extensions.headwater_create_event_trigger(text, text, text[], oid)
from public;
grant execute on function
  extensions.headwater_publish_all_tables(text, text[]),
  extensions.headwater_create_event_trigger(text, text, text[], oid)
to postgres;

drop event trigger if exists headwater_follow_event_functions;
create event trigger headwater_follow_event_functions on ddl_command_end
  when tag in ('CREATE FUNCTION', 'ALTER FUNCTION') execute function headwater.follow_event_functions();
