-- Overloads of what the platform calls, made by role postgres (hostile_overloads.py). PROBE is the schema of the probe.

create table PROBE.wanted (name text, arguments text[], is_operator boolean);

-- The result of a call of the server's own function or operator with these types; null where there is none that takes them.
create function PROBE.result_of(name text, arguments text[], is_operator boolean) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  nulls constant text[] := array(select format('null::%s', one) from unnest(arguments) as one);
  call constant text := case
    when not is_operator then format('pg_catalog.%I(%s)', name, array_to_string(nulls, ', '))
    when cardinality(nulls) = 1 then format('operator(pg_catalog.%s) %s', name, nulls[1])
    else format('%s operator(pg_catalog.%s) %s', nulls[1], name, nulls[2])
  end;
  found text;
begin
  execute 'prepare hostile_call as select ' || call;
  select result_types[1]::text into found from pg_prepared_statements where pg_prepared_statements.name = 'hostile_call';
  deallocate hostile_call;
  return nullif(nullif(found, 'record'), 'void');
exception when others then
  return null;
end $$;

-- Make one overload; it calls the probe, and then does what the original does.
create function PROBE.overload(place text, name text, arguments text[], is_operator boolean, result text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set check_function_bodies = off as $$
declare
  numbered constant text := (select string_agg('$' || n, ', ' order by n) from generate_series(1, cardinality(arguments)) as n);
  types constant text := array_to_string(arguments, ', ');
  kind constant "char" := case when is_operator then 'f' else (
    select prokind from pg_proc where proname = overload.name and pronamespace = 'pg_catalog'::regnamespace order by prokind limit 1) end;
  is_set constant boolean := not is_operator and exists (
    select from pg_proc where proname = overload.name and pronamespace = 'pg_catalog'::regnamespace and proretset);
  via constant text := format('%s.%s(%s)', place, name, types);
  original constant text := case
    when not is_operator then format('pg_catalog.%I(%s)', name, numbered)
    when cardinality(arguments) = 1 then format('operator(pg_catalog.%s) $1', name)
    else format('$1 operator(pg_catalog.%s) $2', name)
  end;
  -- Nothing follows the probe in an operator's name: it is the operator that is looked up.
  called constant text := case when is_operator then 'op_' || md5(via) else name end;
begin
  if kind = 'a' then
    execute format('create function %I.%I(%s, %s) returns %s language plpgsql as %L', place, 'step_' || md5(via), result, types, result,
      format('begin perform PROBE.probe(%L); return $1; end', via));
    execute format('create aggregate %I.%I(%s) (sfunc = %I.%I, stype = %s)', place, name, types, place, 'step_' || md5(via), result);
    return true;
  elsif kind <> 'f' then
    return false;
  end if;
  execute format('create function %I.%I(%s) returns %s%s language plpgsql as %L', place, called, types, case when is_set then 'setof ' else '' end, result,
    format('begin perform PROBE.probe(%L); return %s%s; end', via, case when is_set then 'query select ' else '' end, original));
  if is_operator then
    execute format('create operator %I.%s (%srightarg = %s, function = %I.%I)', place, name,
      case when cardinality(arguments) = 2 then format('leftarg = %s, ', arguments[1]) else '' end,
      arguments[cardinality(arguments)], place, called);
  end if;
  return true;
exception when others then
  return false;
end $$;

-- What there is to overload. Where no function or operator has exactly these types, the overload wins on every path; the others
-- (`is_exact`) win where the path names pg_catalog behind the tenant's schema.
create table PROBE.overloads (name text, arguments text[], is_operator boolean, result text, is_exact boolean);

create procedure PROBE.resolve() language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  one record;
  result text;
  types oid[];
begin
  for one in select distinct name, arguments, is_operator from PROBE.wanted loop
    result := PROBE.result_of(one.name, one.arguments, one.is_operator);
    continue when result is null;
    types := array(select t::regtype::oid from unnest(one.arguments) with ordinality as u (t, n) order by n);
    insert into PROBE.overloads values (one.name, one.arguments, one.is_operator, result, case
      when one.is_operator then exists (
        select from pg_operator where oprname = one.name
          and oprright = types[cardinality(types)] and oprleft = case when cardinality(types) = 2 then types[1] else 0 end)
      else exists (
        select from pg_proc where proname = one.name and pronamespace = 'pg_catalog'::regnamespace and proargtypes::oid[] = types)
      end);
  end loop;
end $$;

-- Make them in a schema; gives how many. `kinds`: 'all', 'winning' on every path, or 'few' (those without the long lists of types).
create function PROBE.spread(place text, kinds text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  one record;
  made integer := 0;
begin
  for one in
    select * from PROBE.overloads
    where kinds = 'all' or (not is_exact and (kinds = 'winning' or name !~ '^(jsonb?_build_.*|format|concat.*)$'))
  loop
    if PROBE.overload(place, one.name, one.arguments, one.is_operator, one.result) then
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;
