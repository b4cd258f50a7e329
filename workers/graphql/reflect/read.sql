-- The statements that read the catalogs (read.py). Each returns one JSON document; all run in one snapshot with an empty
-- search_path, so that types are printed with their schema where necessary. $1: the exposed schemas.
-- Privileges are returned as the lines of an access list (`role=letters/grantor`, defaults included), so that one read
-- serves all roles.

-- name: schemas
-- The exposed schemas that exist.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
  'oid', space.oid::int8,
  'name', space.nspname,
  'acl', pg_catalog.array_to_string(
    coalesce(space.nspacl, pg_catalog.acldefault('n', space.nspowner))::text[], E'\n'),
  'comment', pg_catalog.obj_description(space.oid, 'pg_namespace')
)), '[]')::text
from pg_catalog.pg_namespace space
where space.nspname = any($1::text[])

-- name: roles
-- Superusers, and memberships whose privileges the member inherits without `set role`.
select pg_catalog.json_build_object(
  'superusers', (
    select coalesce(pg_catalog.json_agg(rolname), '[]') from pg_catalog.pg_roles where rolsuper
  ),
  'memberships', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(member, granted)), '[]')
    from (
      select member.rolname as member, granted.rolname as granted
      from pg_catalog.pg_auth_members membership
      join pg_catalog.pg_roles member on member.oid = membership.member
      join pg_catalog.pg_roles granted on granted.oid = membership.roleid
      -- Before Postgres 16 the member decides whether it inherits, since then each membership.
      where coalesce((pg_catalog.to_jsonb(membership) ->> 'inherit_option')::bool, member.rolinherit)
      union all
      select owner.rolname, 'pg_database_owner'
      from pg_catalog.pg_database database
      join pg_catalog.pg_roles owner on owner.oid = database.datdba
      where database.datname = pg_catalog.current_database()
    ) found
  )
)::text

-- name: relations
-- Tables, partitioned ones and their partitions as well; views, materialized views and foreign tables.
-- Bits of `writes`: 8 insert, 4 update, 16 delete: what its kind allows.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
  'oid', class.oid::int8,
  'schema', space.nspname,
  'name', class.relname,
  'kind', class.relkind,
  'row_type', class.reltype::int8,
  'row_security', class.relrowsecurity,
  'writes', case
    when class.relkind in ('r', 'p') then 28
    when class.relkind = 'v' or class.relkind = 'f' and exists (
      -- A wrapper without a handler would raise here, and take the whole schema with it.
      select
      from pg_catalog.pg_foreign_table remote
      join pg_catalog.pg_foreign_server server on server.oid = remote.ftserver
      join pg_catalog.pg_foreign_data_wrapper wrapper on wrapper.oid = server.srvfdw
      where remote.ftrelid = class.oid and wrapper.fdwhandler <> 0
    ) then pg_catalog.pg_relation_is_updatable(class.oid, true)
    else 0
  end,
  'acl', pg_catalog.array_to_string(
    coalesce(class.relacl, pg_catalog.acldefault('r', class.relowner))::text[], E'\n'),
  'comment', about.description
) order by space.nspname, class.relname), '[]')::text
from pg_catalog.pg_class class
join pg_catalog.pg_namespace space on space.oid = class.relnamespace
left join pg_catalog.pg_description about
  on about.objoid = class.oid and about.objsubid = 0 and about.classoid = 'pg_catalog.pg_class'::regclass
where space.nspname = any($1::text[])
  and class.relkind in ('r', 'p', 'v', 'm', 'f')

-- name: columns
-- Columns of these relations in table order. `is_writable` is false for columns that Postgres fills itself: generated,
-- serial and identity columns, and expressions of a view.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(
  own.attrelid::int8,
  own.attnum,
  own.attname,
  own.atttypid::int8,
  own.atttypmod,
  own.attnotnull,
  own.attgenerated = ''
    and not exists (
      select
      from pg_catalog.pg_depend owned
      join pg_catalog.pg_class sequence on sequence.oid = owned.objid and sequence.relkind = 'S'
      where owned.refclassid = 'pg_catalog.pg_class'::regclass
        and owned.classid = 'pg_catalog.pg_class'::regclass
        and owned.refobjid = own.attrelid
        and owned.refobjsubid = own.attnum
        and owned.deptype in ('a', 'i')
    )
    and (class.relkind <> 'v' or pg_catalog.pg_column_is_updatable(own.attrelid, own.attnum, true)),
  pg_catalog.array_to_string(own.attacl::text[], E'\n'),
  about.description
) order by own.attrelid, own.attnum), '[]')::text
from pg_catalog.pg_attribute own
join pg_catalog.pg_class class on class.oid = own.attrelid
join pg_catalog.pg_namespace space on space.oid = class.relnamespace
left join pg_catalog.pg_description about
  on about.objoid = own.attrelid and about.objsubid = own.attnum
  and about.classoid = 'pg_catalog.pg_class'::regclass
where space.nspname = any($1::text[])
  and class.relkind in ('r', 'p', 'v', 'm', 'f')
  and own.attnum > 0
  and not own.attisdropped

-- name: types
-- Types that values may have; rows only of the exposed schemas. An array's privileges are those of its elements.
-- `sql` has no modifier, so that a cast neither rounds nor cuts.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(
  type.oid::int8,
  space.nspname,
  type.typname,
  pg_catalog.format_type(type.oid, -1),
  type.typtype,
  case when type.typcategory = 'A' and type.typlen = -1 then type.typelem::int8 else 0 end,
  type.typrelid::int8,
  type.typbasetype::int8,
  type.typtypmod,
  type.typnotnull,
  pg_catalog.array_to_string(type.typacl::text[], E'\n'),
  case when type.typtype = 'e' then pg_catalog.obj_description(type.oid, 'pg_type') end,
  case when type.typtype = 'e' then (
    select pg_catalog.json_agg(label.enumlabel order by label.enumsortorder)
    from pg_catalog.pg_enum label
    where label.enumtypid = type.oid
  ) end
) order by type.oid), '[]')::text
from pg_catalog.pg_type type
join pg_catalog.pg_namespace space on space.oid = type.typnamespace
left join pg_catalog.pg_type element on element.oid = type.typelem
where case
  when type.typtype = 'c' then space.nspname = any($1::text[])
  else element.typtype is distinct from 'c' or type.typcategory <> 'A'
end

-- name: keys
-- Primary keys (p), unique constraints (u), and unique indexes over the whole table (i) of those relations.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(
  found.name, found.kind, found.relation, found.columns
) order by found.relation, found.kind, found.name), '[]')::text
from (
  select
    rule.conname as name, rule.contype::text as kind, rule.conrelid::int8 as relation,
    pg_catalog.array_to_json(rule.conkey) as columns
  from pg_catalog.pg_constraint rule
  join pg_catalog.pg_namespace space on space.oid = rule.connamespace
  where rule.contype in ('p', 'u') and space.nspname = any($1::text[])
  union all
  select
    class.relname, 'i', index.indrelid::int8,
    pg_catalog.to_json((index.indkey::int2[])[0:index.indnkeyatts - 1])
  from pg_catalog.pg_index index
  join pg_catalog.pg_class class on class.oid = index.indexrelid
  join pg_catalog.pg_namespace space on space.oid = class.relnamespace
  where index.indisunique and index.indpred is null and space.nspname = any($1::text[])
) found

-- name: foreign_keys
-- Foreign keys between these relations in the order of their creation, without those that Postgres adds for partitions.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(
  rule.conrelid::int8,
  pg_catalog.array_to_json(rule.conkey),
  rule.confrelid::int8,
  pg_catalog.array_to_json(rule.confkey),
  pg_catalog.obj_description(rule.oid, 'pg_constraint')
) order by rule.oid), '[]')::text
from pg_catalog.pg_constraint rule
join pg_catalog.pg_namespace space on space.oid = rule.connamespace
left join pg_catalog.pg_constraint parent on parent.oid = rule.conparentid
where rule.contype = 'f'
  and space.nspname = any($1::text[])
  and parent.conrelid is distinct from rule.conrelid

-- name: functions
-- Functions of the exposed schemas; no procedures, aggregates and window functions.
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
  'schema', space.nspname,
  'name', function.proname,
  'types', function.proargtypes::int8[],
  'names', coalesce(function.proargnames, '{}'),
  'modes', coalesce(function.proargmodes, '{}'),
  'default_count', function.pronargdefaults,
  'defaults', case when function.pronargdefaults > 0 then (
    select pg_catalog.json_agg(pg_catalog.pg_get_function_arg_default(function.oid, position) order by position)
    from pg_catalog.generate_series(
      1, coalesce(pg_catalog.cardinality(function.proallargtypes), function.pronargs)) position
  ) end,
  'result', function.prorettype::int8,
  'returns_set', function.proretset,
  'rows', function.prorows,
  'is_volatile', function.provolatile = 'v',
  'is_variadic', function.provariadic <> 0,
  'acl', pg_catalog.array_to_string(
    coalesce(function.proacl, pg_catalog.acldefault('f', function.proowner))::text[], E'\n'),
  'comment', about.description
) order by space.nspname, function.proname, function.oid), '[]')::text
from pg_catalog.pg_proc function
join pg_catalog.pg_namespace space on space.oid = function.pronamespace
left join pg_catalog.pg_description about
  on about.objoid = function.oid and about.objsubid = 0 and about.classoid = 'pg_catalog.pg_proc'::regclass
where function.prokind = 'f' and space.nspname = any($1::text[])
