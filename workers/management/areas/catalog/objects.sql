-- Objects that are no tables: one JSON value a row. $1: schemas as a JSON array where a statement has a parameter.
-- The search path is empty.

-- name: functions
select json_build_object(
  'schema', schema.nspname, 'name', function.proname,
  'kind', case function.prokind when 'f' then 'function' when 'p' then 'procedure' when 'a' then 'aggregate' else 'window function' end,
  'arguments', pg_get_function_arguments(function.oid),
  'identity_arguments', pg_get_function_identity_arguments(function.oid), 'result', pg_get_function_result(function.oid),
  'language', language.lanname,
  'volatility', case function.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
  'is_security_definer', function.prosecdef, 'owner', pg_get_userbyid(function.proowner),
  'settings', coalesce(function.proconfig, '{}'),
  'executable_by', array(select distinct case entry.grantee when 0 then 'public' else pg_get_userbyid(entry.grantee)::text end
    from aclexplode(coalesce(function.proacl, acldefault('f', function.proowner))) as entry
    where entry.privilege_type = 'EXECUTE' order by 1),
  'definition', case when function.prokind <> 'a' then pg_get_functiondef(function.oid) end,
  'comment', obj_description(function.oid, 'pg_proc'))
from pg_proc as function
join pg_namespace as schema on schema.oid = function.pronamespace
join pg_language as language on language.oid = function.prolang
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and not exists (select from pg_depend as member
    where member.classid = 'pg_proc'::regclass and member.objid = function.oid and member.deptype = 'e')
order by schema.nspname, function.proname, function.oid

-- name: types
select json_build_object(
  'schema', schema.nspname, 'name', type.typname,
  'kind', case type.typtype when 'e' then 'enum' when 'd' then 'domain' when 'c' then 'composite' else 'range' end,
  'owner', pg_get_userbyid(type.typowner),
  'values', array(select label.enumlabel from pg_enum as label where label.enumtypid = type.oid order by label.enumsortorder),
  'attributes', (select coalesce(json_object_agg(attribute.attname,
      format_type(attribute.atttypid, attribute.atttypmod) order by attribute.attnum), '{}')
    from pg_attribute as attribute
    where attribute.attrelid = type.typrelid and type.typtype = 'c' and attribute.attnum > 0 and not attribute.attisdropped),
  'checks', array(select pg_get_constraintdef(con.oid) from pg_constraint as con
    where con.contypid = type.oid and con.contype = 'c' order by con.conname),
  'base', case type.typtype when 'd' then format_type(type.typbasetype, type.typtypmod)
    when 'r' then (select format_type(range.rngsubtype, null) from pg_range as range where range.rngtypid = type.oid) end,
  'default', type.typdefault, 'is_nullable', not type.typnotnull,
  'comment', obj_description(type.oid, 'pg_type'))
from pg_type as type
join pg_namespace as schema on schema.oid = type.typnamespace
left join pg_class as relation on relation.oid = type.typrelid
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and (type.typtype in ('e', 'd', 'r') or (type.typtype = 'c' and relation.relkind = 'c'))
  and not exists (select from pg_depend as member
    where member.classid = 'pg_type'::regclass and member.objid = type.oid and member.deptype = 'e')
order by schema.nspname, type.typname

-- name: sequences
select json_build_object(
  'schema', schema.nspname, 'name', relation.relname, 'type', format_type(sequence.seqtypid, null),
  'start', sequence.seqstart, 'least', sequence.seqmin, 'most', sequence.seqmax, 'step', sequence.seqincrement,
  'cycles', sequence.seqcycle, 'last_value', pg_sequence_last_value(relation.oid),
  'owned_by', (select format('%s.%I', owner.refobjid::regclass, attribute.attname)
    from pg_depend as owner
    join pg_attribute as attribute on attribute.attrelid = owner.refobjid and attribute.attnum = owner.refobjsubid
    where owner.classid = 'pg_class'::regclass and owner.objid = relation.oid and owner.deptype in ('a', 'i')
      and owner.refclassid = 'pg_class'::regclass limit 1),
  'comment', obj_description(relation.oid, 'pg_class'))
from pg_sequence as sequence
join pg_class as relation on relation.oid = sequence.seqrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any (array(select json_array_elements_text($1::json)))
order by schema.nspname, relation.relname

-- name: extensions
select json_build_object('name', available.name, 'available_version', available.default_version,
  'version', installed.extversion, 'schema', schema.nspname, 'comment', available.comment)
from pg_available_extensions as available
left join pg_extension as installed on installed.extname = available.name
left join pg_namespace as schema on schema.oid = installed.extnamespace
order by available.name

-- name: publications
select json_build_object('name', publication.pubname, 'owner', pg_get_userbyid(publication.pubowner),
  'all_tables', publication.puballtables,
  'operations', array_remove(array[case when publication.pubinsert then 'insert' end, case when publication.pubupdate then 'update' end,
    case when publication.pubdelete then 'delete' end, case when publication.pubtruncate then 'truncate' end], null),
  'tables', array(select format('%I.%I', member.schemaname, member.tablename) from pg_publication_tables as member
    where member.pubname = publication.pubname order by 1))
from pg_publication as publication
order by publication.pubname

-- name: roles
select json_build_object('name', role.rolname, 'can_login', role.rolcanlogin, 'is_superuser', role.rolsuper,
  'inherits', role.rolinherit, 'bypasses_row_security', role.rolbypassrls, 'creates_roles', role.rolcreaterole,
  'creates_databases', role.rolcreatedb, 'connection_limit', role.rolconnlimit,
  'member_of', array(select membership.roleid::regrole::text from pg_auth_members as membership
    where membership.member = role.oid group by 1 order by 1),
  'settings', coalesce(role.rolconfig, '{}'), 'comment', shobj_description(role.oid, 'pg_authid'))
from pg_roles as role
order by role.rolname

-- name: search
-- $1: text; $2: most rows; $3: the platform's own schemas. Not the names of Postgres itself. The project's before the platform's, whole names
-- before those that begin with the text before others; but a whole name of the platform before parts of others.
select json_build_object('kind', kind, 'schema', schema, 'name', name, 'of', of)
from (
  select 'schema' as kind, nspname as schema, nspname as name, null as of from pg_namespace
  union all
  select case relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
      when 'f' then 'foreign table' when 'S' then 'sequence' else 'index' end, nspname, relname,
    (select indexed.relname from pg_index join pg_class as indexed on indexed.oid = indrelid where indexrelid = pg_class.oid)
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace where relkind in ('r', 'p', 'v', 'm', 'f', 'S', 'i', 'I')
  union all
  select 'column', nspname, attname, relname from pg_attribute
  join pg_class on pg_class.oid = attrelid join pg_namespace on pg_namespace.oid = relnamespace
  where attnum > 0 and not attisdropped and relkind in ('r', 'p', 'v', 'm', 'f')
  union all
  select 'function', nspname, proname, null from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
  union all
  select 'type', nspname, typname, null from pg_type join pg_namespace on pg_namespace.oid = typnamespace
  where typtype in ('e', 'd', 'r') or typtype = 'c' and exists (select from pg_class where pg_class.oid = typrelid and relkind = 'c')
  union all
  select 'trigger', nspname, tgname, relname from pg_trigger
  join pg_class on pg_class.oid = tgrelid join pg_namespace on pg_namespace.oid = relnamespace where not tgisinternal
  union all
  select 'policy', nspname, polname, relname from pg_policy
  join pg_class on pg_class.oid = polrelid join pg_namespace on pg_namespace.oid = relnamespace
  union all
  select 'constraint', nspname, conname, relname from pg_constraint
  join pg_class on pg_class.oid = conrelid join pg_namespace on pg_namespace.oid = pg_class.relnamespace where contype <> 'n'
  union all
  select 'extension', nspname, extname, null from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
  union all
  select 'role', '', rolname, null from pg_roles
  union all
  select 'publication', '', pubname, null from pg_publication
) as names (kind, schema, name, of)
where strpos(lower(name), lower($1::text)) > 0 and schema !~ '^(pg_|information_schema$)'
order by
  case when lower(name) = lower($1::text) then case when schema = any($3::text[]) then 2 else 0 end
    when starts_with(lower(name), lower($1::text)) then case when schema = any($3::text[]) then 4 else 1 end
    else case when schema = any($3::text[]) then 5 else 3 end end,
  case when kind in ('table', 'view', 'materialized view', 'foreign table', 'schema') then 0
    when kind in ('function', 'type', 'column') then 1 else 2 end,
  length(name), name, kind, schema, of
limit $2::int
