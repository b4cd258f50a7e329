-- Statements that read the schema cache (introspect.py). Each returns one JSON document, except `views`.
-- All run in one snapshot with an empty search_path, so every type and default comes qualified where it must be.
-- $1 in `relations`, `columns`, `functions`, `media_handlers`, `server`: the exposed schemas.
-- $1 in `views`, `constraints`: the exposed schemas and the extra search path, through whose views keys are traced.
-- $1 in `computed`: the same list, in which functions of rows are looked for; $2: the exposed schemas.

-- name: settings
-- Settings of the transaction: no search path, no JIT compiler for many small queries, and a short wait
-- for a migration's lock (after `deadlock_timeout` the server might cancel the migration instead of this statement).
select
  pg_catalog.set_config('search_path', '', true),
  pg_catalog.set_config('jit', 'off', true),
  pg_catalog.set_config('lock_timeout', '500ms', true),
  pg_catalog.set_config('statement_timeout', '60s', true)

-- name: server
-- The server's version, and the comments of the exposed schemas that exist.
select pg_catalog.json_build_object(
  'server_version', pg_catalog.current_setting('server_version_num')::int,
  'schemas', (
    select coalesce(
      pg_catalog.json_object_agg(space.nspname, pg_catalog.obj_description(space.oid, 'pg_namespace')), '{}'
    )
    from pg_catalog.pg_namespace space
    where space.nspname = any($1::text[])
  )
)::text

-- name: relations
-- Tables, views, materialized views, foreign and partitioned tables; no partitions.
-- Bits of `writes`: 8 insert, 4 update, 16 delete.
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    class.oid::int8 as oid,
    space.nspname as schema,
    class.relname as name,
    class.relkind as kind,
    class.relrowsecurity as row_security,
    -- A row that is inserted stays: no trigger before it, no rule, no partition with triggers of its own.
    class.relkind = 'r' and not class.relhasrules and not exists (
      select
      from pg_catalog.pg_trigger held
      where held.tgrelid = class.oid and not held.tgisinternal and held.tgtype & 7 = 7 -- row, before, insert
    ) as keeps_inserts,
    -- The same for a row that is updated.
    class.relkind = 'r' and not class.relhasrules and not exists (
      select
      from pg_catalog.pg_trigger held
      where held.tgrelid = class.oid and not held.tgisinternal and held.tgtype & 19 = 19 -- row, before, update
    ) as keeps_updates,
    case
      when class.relkind in ('r', 'p') then 28
      when class.relkind = 'v' or class.relkind = 'f' and exists (
        -- A wrapper without a handler would raise here, and take the whole cache with it.
        select
        from pg_catalog.pg_foreign_table remote
        join pg_catalog.pg_foreign_server server on server.oid = remote.ftserver
        join pg_catalog.pg_foreign_data_wrapper wrapper on wrapper.oid = server.srvfdw
        where remote.ftrelid = class.oid and wrapper.fdwhandler <> 0
      ) then pg_catalog.pg_relation_is_updatable(class.oid, true)
      else 0
    end as writes,
    about.description as comment
  from pg_catalog.pg_class class
  join pg_catalog.pg_namespace space on space.oid = class.relnamespace
  left join pg_catalog.pg_description about
    on about.objoid = class.oid and about.objsubid = 0 and about.classoid = 'pg_catalog.pg_class'::regclass
  where space.nspname = any($1::text[])
    and class.relkind in ('r', 'v', 'm', 'f', 'p')
    and not class.relispartition
  order by space.nspname, class.relname
) found

-- name: columns
-- Columns of those relations in table order. A domain is followed down to the type under all domains;
-- the length of a text or bit type is that of the column, else of its domain.
with recursive domains as (
  select domain.oid, domain.typbasetype as base, domain.typtypmod as modifier
  from pg_catalog.pg_type domain
  where domain.typtype = 'd'
  union all
  select domains.oid, inner_domain.typbasetype, inner_domain.typtypmod
  from domains
  join pg_catalog.pg_type inner_domain on inner_domain.oid = domains.base and inner_domain.typtype = 'd'
),
bases as (
  select domains.oid, domains.base, domains.modifier
  from domains
  join pg_catalog.pg_type type on type.oid = domains.base and type.typtype <> 'd'
),
found as (
  select
    class.oid as relation,
    own.attnum as number,
    own.attname as name,
    own.atttypid as type,
    own.atttypmod as modifier,
    own.attnotnull as not_null,
    own.attidentity as identity,
    own.attgenerated as generated,
    own.atthasdef as has_default,
    type.typtype = 'd' as is_domain,
    type.typnotnull as type_not_null,
    type.typdefaultbin as type_default,
    coalesce(bases.base, own.atttypid) as base,
    coalesce(bases.modifier, own.atttypmod) as base_modifier
  from pg_catalog.pg_class class
  join pg_catalog.pg_namespace space on space.oid = class.relnamespace
  join pg_catalog.pg_attribute own on own.attrelid = class.oid and own.attnum > 0 and not own.attisdropped
  join pg_catalog.pg_type type on type.oid = own.atttypid
  left join bases on bases.oid = own.atttypid
  where space.nspname = any($1::text[])
    and class.relkind in ('r', 'v', 'm', 'f', 'p')
    and not class.relispartition
)
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(
  found.relation::int8,
  found.number,
  found.name,
  pg_catalog.format_type(found.type, null),
  case when found.modifier <> -1 or found.base in (1042, 1560)
    then pg_catalog.format_type(found.type, found.modifier) end,
  case when found.is_domain then pg_catalog.format_type(found.base, null) end,
  found.base::int8,
  not (found.not_null or found.is_domain and found.type_not_null),
  case
    when found.base in (1042, 1043) and found.base_modifier > 0 then found.base_modifier - 4
    when found.base in (1560, 1562) and found.base_modifier > 0 then found.base_modifier
  end,
  case
    when found.generated <> '' or found.identity = 'a' then null
    when found.identity = 'd' then (
      select pg_catalog.format('nextval(%L)', owned.objid::regclass)
      from pg_catalog.pg_depend owned
      where owned.refobjid = found.relation
        and owned.refobjsubid = found.number
        and owned.refclassid = 'pg_catalog.pg_class'::regclass
        and owned.classid = 'pg_catalog.pg_class'::regclass
        and owned.deptype = 'i'
    )
    when found.has_default then (
      select pg_catalog.pg_get_expr(stored.adbin, stored.adrelid)
      from pg_catalog.pg_attrdef stored
      where stored.adrelid = found.relation and stored.adnum = found.number
    )
    when found.is_domain then pg_catalog.pg_get_expr(found.type_default, 0)
  end,
  found.generated <> '',
  found.identity = 'a',
  about.description
) order by found.relation, found.number), '[]')::text
from found
left join pg_catalog.pg_description about
  on about.objoid = found.relation and about.objsubid = found.number
  and about.classoid = 'pg_catalog.pg_class'::regclass

-- name: enums
-- Labels of every enum, by the type's oid.
select coalesce(pg_catalog.json_object_agg(label.enumtypid, label.labels), '{}')::text
from (
  select enumtypid::int8, pg_catalog.array_agg(enumlabel order by enumsortorder) as labels
  from pg_catalog.pg_enum
  group by enumtypid
) label

-- name: constraints
-- Primary keys, unique constraints and foreign keys of the relations concerned: those of the schemas given and the
-- tables under their views. Foreign keys that a partition inherits are left out. Oids below 16384 are the server's own.
with concerned as (
  select class.oid
  from pg_catalog.pg_class class
  join pg_catalog.pg_namespace space on space.oid = class.relnamespace
  where space.nspname = any($1::text[]) and class.relkind in ('r', 'p', 'f')
  union
  select used.refobjid
  from pg_catalog.pg_class class
  join pg_catalog.pg_namespace space on space.oid = class.relnamespace
  join pg_catalog.pg_rewrite rule on rule.ev_class = class.oid
  join pg_catalog.pg_depend used
    on used.classid = 'pg_catalog.pg_rewrite'::regclass and used.objid = rule.oid
    and used.refclassid = 'pg_catalog.pg_class'::regclass
  where space.nspname = any($1::text[]) and class.relkind in ('v', 'm')
)
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    held.conname as name,
    held.contype as kind,
    held.conrelid::int8 as relation,
    held.conkey as columns,
    held.confrelid::int8 as target,
    held.confkey as target_columns
  from pg_catalog.pg_constraint held
  where held.oid >= 16384
    and held.contype in ('p', 'u', 'f')
    and (held.contype <> 'f' or held.conparentid = 0)
    and held.conrelid in (select oid from concerned)
  order by held.oid
) found

-- name: views
-- The parsed query of every view (the `_RETURN` rule), from which its columns are traced. Rows, not JSON: they are long.
select rule.ev_class::int8 as relation, rule.ev_action::text as query
from pg_catalog.pg_rewrite rule
join pg_catalog.pg_class class on class.oid = rule.ev_class
join pg_catalog.pg_namespace space on space.oid = class.relnamespace
where rule.ev_type = '1'
  and class.relkind in ('v', 'm')
  and space.nspname = any($1::text[])
order by rule.ev_class

-- name: functions
-- Functions that may be called: no procedures, aggregates, window or trigger functions.
with recursive domains as (
  select domain.oid, domain.typbasetype as base
  from pg_catalog.pg_type domain
  where domain.typtype = 'd'
  union all
  select domains.oid, inner_domain.typbasetype
  from domains
  join pg_catalog.pg_type inner_domain on inner_domain.oid = domains.base and inner_domain.typtype = 'd'
)
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    space.nspname as schema,
    function.proname as name,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_array(
        coalesce(argument.name, ''),
        coalesce(argument.mode, 'i'),
        pg_catalog.format_type(argument.type, null)
      ) order by argument.position)
      from rows from (
        pg_catalog.unnest(coalesce(function.proallargtypes, function.proargtypes::oid[])),
        pg_catalog.unnest(function.proargnames),
        pg_catalog.unnest(function.proargmodes)
      ) with ordinality as argument(type, name, mode, position)
    ), '[]') as arguments,
    function.pronargdefaults as defaults,
    function.proretset as returns_set,
    function.provolatile as volatility,
    function.proconfig as settings,
    result_space.nspname as result_schema,
    result.typname as result_name,
    result.typtype as result_kind,
    composite_space.nspname as composite_schema,
    composite.typname as composite_name,
    class.relkind as composite_relation_kind,
    about.description as comment
  from pg_catalog.pg_proc function
  join pg_catalog.pg_namespace space on space.oid = function.pronamespace
  join pg_catalog.pg_type result on result.oid = function.prorettype
  join pg_catalog.pg_namespace result_space on result_space.oid = result.typnamespace
  left join (
    pg_catalog.pg_type composite
    join pg_catalog.pg_namespace composite_space on composite_space.oid = composite.typnamespace
    join pg_catalog.pg_class class on class.oid = composite.typrelid
  ) on composite.typtype = 'c' and composite.oid = coalesce(
    (
      select domains.base
      from domains
      join pg_catalog.pg_type base on base.oid = domains.base and base.typtype <> 'd'
      where domains.oid = function.prorettype
    ),
    function.prorettype
  )
  left join pg_catalog.pg_description about
    on about.objoid = function.oid and about.classoid = 'pg_catalog.pg_proc'::regclass and about.objsubid = 0
  where (space.nspname = any($1::text[]) or (space.nspname = 'extensions' and function.proname = 'st_asgeojson'))
    and function.prokind = 'f'
    and result.typname not in ('trigger', 'event_trigger')
  order by space.nspname, function.proname, function.oid
) found

-- name: computed
-- Functions of one argument that is the row of an exposed relation: computed fields and computed relationships.
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    space.nspname as schema,
    function.proname as name,
    origin_space.nspname as origin_schema,
    origin.relname as origin_name,
    pg_catalog.format_type(function.prorettype, null) as type,
    function.proretset as returns_set,
    function.prorows = 1 as returns_one,
    target_space.nspname as target_schema,
    target.relname as target_name
  from pg_catalog.pg_class origin
  join pg_catalog.pg_namespace origin_space on origin_space.oid = origin.relnamespace
  join pg_catalog.pg_proc function on function.pronargs = 1 and function.proargtypes[0] = origin.reltype
  join pg_catalog.pg_namespace space on space.oid = function.pronamespace
  join pg_catalog.pg_type result on result.oid = function.prorettype
  left join pg_catalog.pg_class target
    on target.reltype = function.prorettype and target.relkind in ('r', 'v', 'm', 'f', 'p')
  left join pg_catalog.pg_namespace target_space on target_space.oid = target.relnamespace
  where origin_space.nspname = any($2::text[])
    and origin.relkind in ('r', 'v', 'm', 'f', 'p')
    and not origin.relispartition
    and function.prokind = 'f'
    and space.nspname = any($1::text[])
    and result.typtype <> 'p'
  order by pg_catalog.array_position($1::text[], space.nspname::text), function.proname, function.oid
) found

-- name: representations
-- Implicit casts by function between a domain and json or text.
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    case when source.typtype = 'd' then pg_catalog.format_type(source.oid, null)
      else pg_catalog.format_type(target.oid, null) end as domain,
    case when source.typtype = 'd' then 'to_' || target.typname else 'from_' || source.typname end as direction,
    space.nspname as schema,
    function.proname as name
  from pg_catalog.pg_cast conversion
  join pg_catalog.pg_type source on source.oid = conversion.castsource
  join pg_catalog.pg_type target on target.oid = conversion.casttarget
  join pg_catalog.pg_proc function on function.oid = conversion.castfunc
  join pg_catalog.pg_namespace space on space.oid = function.pronamespace
  where conversion.castcontext = 'i'
    and conversion.castmethod = 'f'
    and (
      source.typtype = 'd' and conversion.casttarget = 'pg_catalog.json'::regtype
      or target.typtype = 'd' and conversion.castsource in ('pg_catalog.json'::regtype, 'pg_catalog.text'::regtype)
    )
) found

-- name: media_handlers
-- Aggregates over rows (of one relation, or of any) whose result is a domain named as a media type, and functions that
-- return such a domain.
with recursive media_types as (
  select type.oid, pg_catalog.lower(type.typname) as name, type.typbasetype as base
  from pg_catalog.pg_type type
  where type.typtype = 'd'
    and (type.typname = '*/*' or type.typname ~* '^[a-z0-9.-]+/[a-z0-9.+-]+$')
  union all
  select media_types.oid, media_types.name, type.typbasetype
  from media_types
  join pg_catalog.pg_type type on type.oid = media_types.base and type.typtype = 'd'
)
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    media_types.name as media_type,
    space.nspname as schema,
    function.proname as name,
    function.prokind = 'f' as is_scalar,
    relation_space.nspname as relation_schema,
    relation.relname as relation_name,
    base.typname as base_type
  from media_types
  join pg_catalog.pg_type base on base.oid = media_types.base and base.typtype <> 'd'
  join pg_catalog.pg_proc function on function.prorettype = media_types.oid
  join pg_catalog.pg_namespace space on space.oid = function.pronamespace
  left join (
    pg_catalog.pg_class relation
    join pg_catalog.pg_namespace relation_space on relation_space.oid = relation.relnamespace
  ) on function.prokind = 'a' and function.pronargs = 1
    and relation.reltype = function.proargtypes[0]
    and relation.relkind in ('r', 'v', 'm', 'f', 'p')
  where space.nspname = any($1::text[])
    and (
      function.prokind = 'f' and not function.proretset
      or function.prokind = 'a' and function.pronargs = 1
        and (relation.oid is not null or function.proargtypes[0] = 'pg_catalog.anyelement'::regtype)
    )
  order by space.nspname, function.proname, function.oid
) found

-- name: roles
-- Roles that the login role may become, with the settings it may apply for them: a role's setting for this database
-- wins over its general one.
select coalesce(pg_catalog.json_agg(pg_catalog.to_json(found)), '[]')::text
from (
  select
    role.rolname as name,
    coalesce((
      select pg_catalog.json_object_agg(chosen.name, chosen.value)
      from (
        select distinct on (pg_catalog.lower(pg_catalog.split_part(setting, '=', 1)))
          pg_catalog.split_part(setting, '=', 1) as name,
          pg_catalog.substr(setting, pg_catalog.strpos(setting, '=') + 1) as value
        from pg_catalog.pg_db_role_setting stored
        cross join pg_catalog.unnest(stored.setconfig) as setting
        where stored.setrole = role.oid
          and (stored.setdatabase = 0 or stored.setdatabase = (
            select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()
          ))
        order by pg_catalog.lower(pg_catalog.split_part(setting, '=', 1)), stored.setdatabase desc
      ) chosen
      join pg_catalog.pg_settings known on pg_catalog.lower(known.name) = pg_catalog.lower(chosen.name)
      where known.context = 'user'
        or pg_catalog.has_parameter_privilege(known.name, 'set')
    ), '{}') as settings
  from pg_catalog.pg_roles role
  where pg_catalog.pg_has_role(role.oid, 'member')
    and role.rolname <> session_user
) found
