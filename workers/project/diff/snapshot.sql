-- The objects of a project's schemas, each with the SQL that creates and drops it (snapshot.py). $1: the schemas whose
-- objects count. Every statement gives kind, name, create, drop, parent, detail, ordered by age.

-- name: schemas
select 'schema' as kind, pg_catalog.quote_ident(nspname) as name,
  'create schema ' || pg_catalog.quote_ident(nspname) as create,
  'drop schema ' || pg_catalog.quote_ident(nspname) as drop, '' as parent, '' as detail
from pg_catalog.pg_namespace where nspname = any($1::text[]) and nspname <> 'public'
order by oid

-- name: extensions
select 'extension' as kind, pg_catalog.quote_ident(extname) as name,
  pg_catalog.format('create extension if not exists %I with schema %I', extname, nspname) as create,
  pg_catalog.format('drop extension %I', extname) as drop, '' as parent, '' as detail
from pg_catalog.pg_extension join pg_catalog.pg_namespace on pg_namespace.oid = extnamespace
where extname <> 'plpgsql' and $1::text[] is not null
order by pg_extension.oid

-- name: types
-- Enums, composite types and domains.
select case typtype when 'e' then 'enum' when 'c' then 'composite' else 'domain' end as kind,
  pg_catalog.format('%I.%I', nspname, typname) as name,
  case typtype
    when 'e' then pg_catalog.format('create type %I.%I as enum (%s)', nspname, typname, (
      select pg_catalog.string_agg(pg_catalog.quote_literal(enumlabel), ', ' order by enumsortorder)
      from pg_catalog.pg_enum where enumtypid = kind.oid))
    when 'c' then pg_catalog.format('create type %I.%I as (%s)', nspname, typname, (
      select pg_catalog.string_agg(pg_catalog.format('%I %s', attname, pg_catalog.format_type(atttypid, atttypmod)), ', ' order by attnum)
      from pg_catalog.pg_attribute where attrelid = kind.typrelid and attnum > 0 and not attisdropped))
    else pg_catalog.format('create domain %I.%I as %s', nspname, typname, pg_catalog.format_type(typbasetype, kind.typtypmod))
      || case when typnotnull then ' not null' else '' end
      || coalesce(' default ' || typdefault, '')
      || coalesce((
        select pg_catalog.string_agg(pg_catalog.format(' constraint %I %s', conname, pg_catalog.pg_get_constraintdef(oid)), '' order by conname)
        from pg_catalog.pg_constraint where contypid = kind.oid and contype = 'c'), '')
  end as create,
  pg_catalog.format(case when typtype = 'd' then 'drop domain %I.%I' else 'drop type %I.%I' end, nspname, typname) as drop,
  '' as parent,
  coalesce((select pg_catalog.json_agg(enumlabel order by enumsortorder)::text from pg_catalog.pg_enum where enumtypid = kind.oid), '') as detail
from pg_catalog.pg_type as kind
join pg_catalog.pg_namespace as space on space.oid = kind.typnamespace
where nspname = any($1::text[])
  and (typtype in ('e', 'd') or (typtype = 'c' and exists (
    select from pg_catalog.pg_class where oid = kind.typrelid and relkind = 'c')))
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_type'::regclass and objid = kind.oid and deptype = 'e')
order by kind.oid

-- name: sequences
select 'sequence' as kind, pg_catalog.format('%I.%I', nspname, relname) as name,
  pg_catalog.format('create sequence %I.%I as %s increment by %s minvalue %s maxvalue %s start with %s cache %s%s',
    nspname, relname, pg_catalog.format_type(seqtypid, null), seqincrement, seqmin, seqmax, seqstart, seqcache,
    case when seqcycle then ' cycle' else '' end) as create,
  pg_catalog.format('drop sequence if exists %I.%I', nspname, relname) as drop, '' as parent, '' as detail
from pg_catalog.pg_sequence
join pg_catalog.pg_class as relation on relation.oid = seqrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[])
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = seqrelid and deptype in ('i', 'e'))
order by relation.oid

-- name: sequence_owners
select 'sequence owner' as kind, pg_catalog.format('%I.%I', space.nspname, relation.relname) as name,
  pg_catalog.format('alter sequence %I.%I owned by %I.%I.%I', space.nspname, relation.relname, other.nspname, owner.relname, attname) as create,
  pg_catalog.format('alter sequence if exists %I.%I owned by none', space.nspname, relation.relname) as drop,
  pg_catalog.format('%I.%I', other.nspname, owner.relname) as parent, '' as detail
from pg_catalog.pg_depend
join pg_catalog.pg_class as relation on relation.oid = objid and relation.relkind = 'S'
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
join pg_catalog.pg_class as owner on owner.oid = refobjid
join pg_catalog.pg_namespace as other on other.oid = owner.relnamespace
join pg_catalog.pg_attribute on attrelid = refobjid and attnum = refobjsubid
where classid = 'pg_catalog.pg_class'::regclass and refclassid = 'pg_catalog.pg_class'::regclass and deptype = 'a'
  and space.nspname = any($1::text[])
order by relation.oid

-- name: tables
select 'table' as kind, pg_catalog.format('%I.%I', nspname, relname) as name,
  case when relispartition then pg_catalog.format('create table %I.%I partition of %s %s', nspname, relname,
      (select inhparent::regclass::text from pg_catalog.pg_inherits where inhrelid = relation.oid limit 1),
      pg_catalog.pg_get_expr(relpartbound, relation.oid))
    else pg_catalog.format('create %stable %I.%I (COLUMNS)', case when relpersistence = 'u' then 'unlogged ' else '' end, nspname, relname)
  end || case when relkind = 'p' then ' partition by ' || pg_catalog.pg_get_partkeydef(relation.oid) else '' end as create,
  pg_catalog.format('drop table %I.%I', nspname, relname) as drop,
  coalesce((select inhparent::regclass::text from pg_catalog.pg_inherits where inhrelid = relation.oid and relation.relispartition limit 1), '') as parent,
  '' as detail
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and relkind in ('r', 'p')
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype = 'e')
order by relation.oid

-- name: columns
select 'column' as kind, pg_catalog.format('%I.%I.%I', nspname, relname, attname) as name,
  pg_catalog.quote_ident(attname) as create, '' as drop,
  pg_catalog.format('%I.%I', nspname, relname) as parent,
  pg_catalog.json_build_object(
    'name', pg_catalog.quote_ident(attname),
    'type', pg_catalog.format_type(atttypid, atttypmod),
    'collation', case when attcollation <> typcollation and attcollation <> 0 then attcollation::regcollation::text else '' end,
    'is_not_null', attnotnull,
    'identity', attidentity,
    'generated', attgenerated,
    'default', coalesce(pg_catalog.pg_get_expr(adbin, adrelid), '')
  )::text as detail
from pg_catalog.pg_attribute as attribute
join pg_catalog.pg_class as relation on relation.oid = attrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
join pg_catalog.pg_type as kind on kind.oid = atttypid
left join pg_catalog.pg_attrdef on adrelid = attrelid and adnum = attnum
where nspname = any($1::text[]) and relkind in ('r', 'p') and attnum > 0 and not attisdropped and not relispartition
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype = 'e')
order by relation.oid, attnum

-- name: functions
select case
    when exists (
      select from pg_catalog.pg_type join pg_catalog.pg_class on pg_class.oid = typrelid
      where relkind in ('v', 'm') and (pg_type.oid = prorettype or pg_type.oid = any(proargtypes::oid[]))
    ) then 'function on views' else 'function' end as kind,
  pg_catalog.format('%I.%I(%s)', nspname, proname, pg_catalog.pg_get_function_identity_arguments(function.oid)) as name,
  pg_catalog.pg_get_functiondef(function.oid) as create,
  pg_catalog.format('drop %s %I.%I(%s)', case prokind when 'p' then 'procedure' else 'function' end, nspname, proname,
    pg_catalog.pg_get_function_identity_arguments(function.oid)) as drop,
  '' as parent,
  coalesce(pg_catalog.pg_get_function_result(function.oid), '') || ' ' || pg_catalog.pg_get_function_arguments(function.oid) as detail
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as space on space.oid = pronamespace
where nspname = any($1::text[]) and prokind in ('f', 'p', 'w')
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_proc'::regclass and objid = function.oid and deptype = 'e')
order by function.oid

-- name: views
select case relkind when 'v' then 'view' else 'materialized view' end as kind,
  pg_catalog.format('%I.%I', nspname, relname) as name,
  pg_catalog.format('create %sview %I.%I%s as %s', case when relkind = 'm' then 'materialized ' else 'or replace ' end, nspname, relname,
    coalesce(' with (' || pg_catalog.array_to_string(reloptions, ', ') || ')', ''),
    pg_catalog.rtrim(pg_catalog.pg_get_viewdef(relation.oid), ';')) as create,
  pg_catalog.format('drop %sview %I.%I', case when relkind = 'm' then 'materialized ' else '' end, nspname, relname) as drop,
  '' as parent,
  (select pg_catalog.string_agg(pg_catalog.format('%I %s', attname, pg_catalog.format_type(atttypid, atttypmod)), ', ' order by attnum)
   from pg_catalog.pg_attribute where attrelid = relation.oid and attnum > 0 and not attisdropped) as detail
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and relkind in ('v', 'm')
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype = 'e')
order by relation.oid

-- name: constraints
-- Not null constraints are the columns' own; those of partitions come from the table above.
select case contype when 'f' then 'foreign key' else 'constraint' end as kind,
  pg_catalog.format('%I on %I.%I', conname, nspname, relname) as name,
  pg_catalog.format('alter table %I.%I add constraint %I %s', nspname, relname, conname, pg_catalog.pg_get_constraintdef(one.oid)) as create,
  pg_catalog.format('alter table %I.%I drop constraint %I', nspname, relname, conname) as drop,
  pg_catalog.format('%I.%I', nspname, relname) as parent, '' as detail
from pg_catalog.pg_constraint as one
join pg_catalog.pg_class as relation on relation.oid = conrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and contype in ('p', 'u', 'c', 'x', 'f') and coninhcount = 0
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype = 'e')
order by contype = 'c', one.oid

-- name: indexes
select 'index' as kind, pg_catalog.format('%I.%I', nspname, relation.relname) as name,
  pg_catalog.pg_get_indexdef(indexrelid) as create,
  pg_catalog.format('drop index %I.%I', nspname, relation.relname) as drop,
  pg_catalog.format('%I.%I', nspname, owner.relname) as parent, '' as detail
from pg_catalog.pg_index
join pg_catalog.pg_class as relation on relation.oid = indexrelid
join pg_catalog.pg_class as owner on owner.oid = indrelid
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where nspname = any($1::text[]) and not relation.relispartition
  and not exists (select from pg_catalog.pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid in (indexrelid, indrelid) and deptype = 'e')
order by relation.oid

-- name: triggers
-- Also those that a project puts on the platform's own tables: their functions are the project's. Triggers of a history and of webhooks follow
-- the comment of the table (workers/history) and the webhooks.
select 'trigger' as kind, pg_catalog.format('%I on %I.%I', tgname, space.nspname, relname) as name,
  pg_catalog.pg_get_triggerdef(one.oid)
    || case tgenabled when 'D' then pg_catalog.format('; alter table %I.%I disable trigger %I', space.nspname, relname, tgname) else '' end as create,
  pg_catalog.format('drop trigger %I on %I.%I', tgname, space.nspname, relname) as drop,
  pg_catalog.format('%I.%I', space.nspname, relname) as parent, '' as detail
from pg_catalog.pg_trigger as one
join pg_catalog.pg_class as relation on relation.oid = tgrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
join pg_catalog.pg_proc as function on function.oid = tgfoid
join pg_catalog.pg_namespace as home on home.oid = pronamespace
where not tgisinternal and tgparentid = 0 and (home.nspname, proname) <> ('headwater', 'write_cause')
  and (space.nspname = any($1::text[]) or home.nspname = any($1::text[]))
order by one.oid

-- name: row_security
select 'row security' as kind, pg_catalog.format('%I.%I', nspname, relname) as name,
  pg_catalog.format('alter table %I.%I enable row level security', nspname, relname)
    || case when relforcerowsecurity then pg_catalog.format('; alter table %I.%I force row level security', nspname, relname) else '' end as create,
  pg_catalog.format('alter table %I.%I disable row level security', nspname, relname)
    || case when relforcerowsecurity then pg_catalog.format('; alter table %I.%I no force row level security', nspname, relname) else '' end as drop,
  pg_catalog.format('%I.%I', nspname, relname) as parent, '' as detail
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and relrowsecurity
order by relation.oid

-- name: policies
-- Also those on the platform's own tables: a project writes them on objects and messages.
select 'policy' as kind, pg_catalog.format('%I on %I.%I', polname, nspname, relname) as name,
  pg_catalog.format('create policy %I on %I.%I as %s for %s to %s', polname, nspname, relname,
    case when polpermissive then 'permissive' else 'restrictive' end,
    case polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    case when polroles = '{0}' then 'public' else (
      select pg_catalog.string_agg(pg_catalog.quote_ident(rolname), ', ' order by rolname)
      from pg_catalog.pg_roles where oid = any(polroles)) end)
    || coalesce(' using (' || pg_catalog.pg_get_expr(polqual, polrelid) || ')', '')
    || coalesce(' with check (' || pg_catalog.pg_get_expr(polwithcheck, polrelid) || ')', '') as create,
  pg_catalog.format('drop policy %I on %I.%I', polname, nspname, relname) as drop,
  pg_catalog.format('%I.%I', nspname, relname) as parent, '' as detail
from pg_catalog.pg_policy as one
join pg_catalog.pg_class as relation on relation.oid = polrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[] || array['storage', 'realtime', 'auth'])
order by one.oid

-- name: privileges
-- What differs from the privileges that a new object of its owner gets in its schema: both grants and revocations.
with objects as (
  select relation.oid, relnamespace as space, relowner as owner, relacl as acl,
    (case relkind when 'S' then 's' else 'r' end)::"char" as what,
    (case relkind when 'S' then 'sequence ' else 'table ' end) || pg_catalog.format('%I.%I', nspname, relname) as name,
    pg_catalog.format('%I.%I', nspname, relname) as parent, relation.oid as age
  from pg_catalog.pg_class as relation
  join pg_catalog.pg_namespace as space on space.oid = relnamespace
  where nspname = any($1::text[]) and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_class'::regclass and objid = relation.oid and deptype in ('e', 'i'))
  union all
  select function.oid, pronamespace, proowner, proacl, 'f'::"char",
    case prokind when 'p' then 'procedure ' else 'function ' end
      || pg_catalog.format('%I.%I(%s)', nspname, proname, pg_catalog.pg_get_function_identity_arguments(function.oid)),
    pg_catalog.format('%I.%I(%s)', nspname, proname, pg_catalog.pg_get_function_identity_arguments(function.oid)), function.oid
  from pg_catalog.pg_proc as function
  join pg_catalog.pg_namespace as space on space.oid = pronamespace
  where nspname = any($1::text[]) and prokind in ('f', 'p', 'w')
    and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_proc'::regclass and objid = function.oid and deptype = 'e')
  union all
  select oid, null, nspowner, nspacl, 'n'::"char", 'schema ' || pg_catalog.quote_ident(nspname), pg_catalog.quote_ident(nspname), oid
  from pg_catalog.pg_namespace where nspname = any($1::text[]) and nspname <> 'public'
), actual as (
  select name, parent, age, grantee, privilege_type, is_grantable
  from objects, pg_catalog.aclexplode(coalesce(acl, pg_catalog.acldefault(what, owner)))
  where grantee <> owner
), usual as (
  select distinct name, parent, age, grantee, privilege_type, is_grantable
  from objects, pg_catalog.aclexplode(
    coalesce(
      (select defaclacl from pg_catalog.pg_default_acl where defaclrole = owner and defaclnamespace = 0
        and defaclobjtype = (case what when 's' then 'S' else what end)),
      pg_catalog.acldefault(what, owner))
    || coalesce(
      (select defaclacl from pg_catalog.pg_default_acl where defaclrole = owner and defaclnamespace = space
        and defaclobjtype = (case what when 's' then 'S' else what end)),
      '{}'::pg_catalog.aclitem[]))
  where grantee <> owner
  union
  -- What the event trigger grants to readers (management/0008).
  select name, parent, age, reader.oid, case what when 'n' then 'USAGE' else 'SELECT' end, false
  from objects, pg_catalog.pg_roles as reader
  where reader.rolname = 'supabase_read_only_user' and what <> 'f'
    and exists (select from pg_catalog.pg_event_trigger where evtname = 'headwater_readers')
), differing as (
  select true as is_granted, * from (select * from actual except select * from usual) as more
  union all
  select false, * from (select * from usual except select * from actual) as less
)
select 'privilege' as kind,
  pg_catalog.format('%s %s %s', case when is_granted then '+' else '-' end, name, who) as name,
  case when is_granted then pg_catalog.format('grant %s on %s to %s%s', what, name, who, case when is_grantable then ' with grant option' else '' end)
    else pg_catalog.format('revoke %s on %s from %s', what, name, who) end as create,
  case when is_granted then pg_catalog.format('revoke %s on %s from %s', what, name, who)
    else pg_catalog.format('grant %s on %s to %s', what, name, who) end as drop,
  parent, '' as detail
from (
  select is_granted, name, parent, age, is_grantable,
    case when grantee = 0 then 'public' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(grantee)) end as who,
    pg_catalog.string_agg(pg_catalog.lower(privilege_type), ', ' order by privilege_type) as what
  from differing group by is_granted, name, parent, age, is_grantable, grantee
) as gathered
order by is_granted, age, who

-- name: comments
select 'comment' as kind, what as name,
  pg_catalog.format('comment on %s is %L', what, description) as create,
  pg_catalog.format('comment on %s is null', what) as drop, parent, '' as detail
from (
  select description, relation.oid as age, objsubid, pg_catalog.format('%I.%I', nspname, relname) as parent,
    case when objsubid > 0 then 'column ' || pg_catalog.format('%I.%I.%I', nspname, relname, attname)
      else case relkind when 'v' then 'view ' when 'm' then 'materialized view ' else 'table ' end || pg_catalog.format('%I.%I', nspname, relname)
    end as what
  from pg_catalog.pg_description
  join pg_catalog.pg_class as relation on relation.oid = objoid and relkind in ('r', 'p', 'v', 'm')
  join pg_catalog.pg_namespace as space on space.oid = relnamespace
  left join pg_catalog.pg_attribute on attrelid = objoid and attnum = objsubid
  where classoid = 'pg_catalog.pg_class'::regclass and nspname = any($1::text[])
  union all
  select description, function.oid, 0, pg_catalog.format('%I.%I(%s)', nspname, proname, pg_catalog.pg_get_function_identity_arguments(function.oid)),
    case prokind when 'p' then 'procedure ' else 'function ' end
      || pg_catalog.format('%I.%I(%s)', nspname, proname, pg_catalog.pg_get_function_identity_arguments(function.oid))
  from pg_catalog.pg_description
  join pg_catalog.pg_proc as function on function.oid = objoid
  join pg_catalog.pg_namespace as space on space.oid = pronamespace
  where classoid = 'pg_catalog.pg_proc'::regclass and nspname = any($1::text[])
    and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_proc'::regclass and objid = function.oid and deptype = 'e')
) as told
order by age, objsubid

-- name: publications
select 'publication' as kind, pg_catalog.format('%I: %I.%I', pubname, nspname, relname) as name,
  pg_catalog.format('alter publication %I add table %I.%I', pubname, nspname, relname) as create,
  pg_catalog.format('alter publication %I drop table %I.%I', pubname, nspname, relname) as drop,
  pg_catalog.format('%I.%I', nspname, relname) as parent, '' as detail
from pg_catalog.pg_publication_rel as one
join pg_catalog.pg_publication on pg_publication.oid = prpubid
join pg_catalog.pg_class as relation on relation.oid = prrelid
join pg_catalog.pg_namespace as space on space.oid = relnamespace
where nspname = any($1::text[]) and pubname = 'supabase_realtime'
order by one.oid

-- name: project_schemas
-- Schemas of the project: not the platform's ($1), not the server's, not an extension's.
select nspname::text as name from pg_catalog.pg_namespace as space
where nspname <> all($1::text[]) and nspname !~ '^(pg_|information_schema$)'
  and not exists (select from pg_catalog.pg_depend where classid = 'pg_catalog.pg_namespace'::regclass and objid = space.oid and deptype = 'e')
order by nspname
