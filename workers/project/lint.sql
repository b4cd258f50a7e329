-- Faults that the catalogs show (lint.py). $1: the schemas to look at; $2: those that clients reach.
-- Every statement gives: level, rule, object, message, cure.

-- name: row_security_off
select 'error' as level, 'row_security_off' as rule, pg_catalog.format('%I.%I', nspname, relname) as object,
  'clients may reach this table, and row level security is off' as message,
  pg_catalog.format('alter table %I.%I enable row level security;', nspname, relname) as cure
from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and nspname = any($2::text[]) and relkind in ('r', 'p') and not relrowsecurity
  and (pg_catalog.has_table_privilege('anon', relation.oid, 'select, insert, update, delete')
    or pg_catalog.has_table_privilege('authenticated', relation.oid, 'select, insert, update, delete'))
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype = 'e')
order by 3

-- name: policies_without_row_security
select 'error' as level, 'policies_without_row_security' as rule, pg_catalog.format('%I.%I', nspname, relname) as object,
  'it has policies that do nothing while row level security is off' as message,
  pg_catalog.format('alter table %I.%I enable row level security;', nspname, relname) as cure
from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and not relrowsecurity
  and exists (select from pg_catalog.pg_policy where polrelid = relation.oid)
  and $2::text[] is not null
order by 3

-- name: no_policies
select 'warning' as level, 'no_policies' as rule, pg_catalog.format('%I.%I', nspname, relname) as object,
  'row level security is on and there is no policy: only service_role sees rows' as message,
  'write a policy, if clients should see any' as cure
from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and nspname = any($2::text[]) and relkind in ('r', 'p') and relrowsecurity
  and not exists (select from pg_catalog.pg_policy where polrelid = relation.oid)
order by 3

-- name: view_with_owners_rights
select 'error' as level, 'view_with_owners_rights' as rule, pg_catalog.format('%I.%I', nspname, relname) as object,
  'clients may read this view, and it reads with the rights of its owner, past all policies' as message,
  pg_catalog.format('alter view %I.%I set (security_invoker = on);', nspname, relname) as cure
from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and nspname = any($2::text[]) and relkind = 'v'
  and not coalesce(reloptions, '{}') && array['security_invoker=on', 'security_invoker=true', 'security_invoker=1', 'security_invoker=yes']
  and (pg_catalog.has_table_privilege('anon', relation.oid, 'select') or pg_catalog.has_table_privilege('authenticated', relation.oid, 'select'))
  and exists (
    select from pg_catalog.pg_rewrite
    join pg_catalog.pg_depend on pg_depend.classid = 'pg_catalog.pg_rewrite'::regclass and pg_depend.objid = pg_rewrite.oid
    join pg_catalog.pg_class as base on base.oid = refobjid and base.relrowsecurity
    where ev_class = relation.oid and refclassid = 'pg_catalog.pg_class'::regclass)
order by 3

-- name: search_path_of_definer
select 'warning' as level, 'search_path_of_definer' as rule, function.oid::pg_catalog.regprocedure::text as object,
  'it runs with the rights of its owner and takes the search_path of its caller' as message,
  pg_catalog.format('alter function %s set search_path = '''';', function.oid::pg_catalog.regprocedure) as cure
from pg_catalog.pg_proc as function join pg_catalog.pg_namespace as space on space.oid = pronamespace
where nspname = any($1::text[]) and prosecdef and $2::text[] is not null
  and not exists (select from pg_catalog.unnest(proconfig) as setting where setting like 'search\_path=%')
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_proc'::regclass and objid = function.oid and deptype = 'e')
order by 3

-- name: foreign_key_without_index
select 'warning' as level, 'foreign_key_without_index' as rule, pg_catalog.format('%I.%I', nspname, relname) as object,
  pg_catalog.format('no index begins with the columns of %I: a delete or join on the other side reads the whole table', conname) as message,
  pg_catalog.format('create index on %I.%I (%s);', nspname, relname, (
    select pg_catalog.string_agg(pg_catalog.quote_ident(attname), ', ' order by place)
    from pg_catalog.unnest(conkey) with ordinality as key (number, place)
    join pg_catalog.pg_attribute on attrelid = conrelid and attnum = number)) as cure
from pg_catalog.pg_constraint as one
join pg_catalog.pg_class as relation on relation.oid = conrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and contype = 'f' and coninhcount = 0 and $2::text[] is not null
  and not exists (
    select from pg_catalog.pg_index where indrelid = conrelid and indisvalid
      and (indkey::int2[])[0:pg_catalog.cardinality(conkey) - 1] @> conkey
      and (indkey::int2[])[0:pg_catalog.cardinality(conkey) - 1] <@ conkey)
order by 3, conname

-- name: no_primary_key
select 'warning' as level, 'no_primary_key' as rule, pg_catalog.format('%I.%I', nspname, relname) as object,
  'it has no primary key: clients cannot name one row, changes carry no identity' as message,
  'add a primary key' as cure
from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and relkind in ('r', 'p') and not relispartition and $2::text[] is not null
  and not exists (select from pg_catalog.pg_constraint where conrelid = relation.oid and contype = 'p')
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype = 'e')
order by 3

-- name: duplicate_index
select 'warning' as level, 'duplicate_index' as rule, second.indexrelid::pg_catalog.regclass::text as object,
  pg_catalog.format('it is the same index as %s', first.indexrelid::pg_catalog.regclass) as message,
  pg_catalog.format('drop index %s;', second.indexrelid::pg_catalog.regclass) as cure
from pg_catalog.pg_index as first
join pg_catalog.pg_index as second on second.indrelid = first.indrelid and second.indexrelid > first.indexrelid
  and second.indkey = first.indkey and second.indclass = first.indclass and second.indcollation = first.indcollation
  and second.indoption = first.indoption and not second.indisunique
  and pg_catalog.pg_get_expr(second.indexprs, second.indrelid) is not distinct from pg_catalog.pg_get_expr(first.indexprs, first.indrelid)
  and pg_catalog.pg_get_expr(second.indpred, second.indrelid) is not distinct from pg_catalog.pg_get_expr(first.indpred, first.indrelid)
join pg_catalog.pg_class as relation on relation.oid = first.indrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
join pg_catalog.pg_class as one on one.oid = first.indexrelid
join pg_catalog.pg_class as other on other.oid = second.indexrelid and other.relam = one.relam
where nspname = any($1::text[]) and $2::text[] is not null
order by 3

-- name: policy_asks_for_each_row
select 'warning' as level, 'policy_asks_for_each_row' as rule, pg_catalog.format('%I on %I.%I', polname, nspname, relname) as object,
  'it calls auth.uid(), auth.jwt(), auth.role() or current_setting() again for each row' as message,
  'write (select auth.uid()) instead: it is asked once' as cure
from pg_catalog.pg_policy
join pg_catalog.pg_class as relation on relation.oid = polrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and $2::text[] is not null
  and pg_catalog.regexp_replace(
    coalesce(pg_catalog.pg_get_expr(polqual, polrelid), '') || ' ' || coalesce(pg_catalog.pg_get_expr(polwithcheck, polrelid), ''),
    'select (auth\.)?(uid|jwt|role|email|current_setting)\(', '', 'gi') ~* '(\mauth\.(uid|jwt|role|email)\(|\mcurrent_setting\()'
order by 3

-- name: functions
-- The functions whose bodies are checked again.
select function.oid::pg_catalog.regprocedure::text as object, pg_catalog.pg_get_functiondef(function.oid) as definition
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as space on space.oid = pronamespace
join pg_catalog.pg_language as spoken on spoken.oid = prolang
where nspname = any($1::text[]) and prokind in ('f', 'p') and lanname in ('sql', 'plpgsql')
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_proc'::regclass and objid = function.oid and deptype = 'e')
order by 1
