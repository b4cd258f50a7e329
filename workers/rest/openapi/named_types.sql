-- What a description says of types that the catalog knows by name only (openapi_named.py).

-- name: named
-- One row: the domains, enums, composites and types with a JSON form of their own that a schema ($1) uses, by the name
-- that `format_type` gives under an empty search_path; and the result columns of its functions, in order.
with recursive functions as (
  select function.*
  from pg_catalog.pg_proc function
  join pg_catalog.pg_namespace space on space.oid = function.pronamespace
  where space.nspname = $1 and function.prokind = 'f'
),
used(oid) as (
  select own.atttypid
  from pg_catalog.pg_class class
  join pg_catalog.pg_namespace space on space.oid = class.relnamespace
  join pg_catalog.pg_attribute own on own.attrelid = class.oid and own.attnum > 0 and not own.attisdropped
  where space.nspname = $1 and class.relkind in ('r', 'v', 'm', 'f', 'p')
  union
  select inner_type.oid
  from functions
  cross join pg_catalog.unnest(
    coalesce(functions.proallargtypes, functions.proargtypes::oid[]) || functions.prorettype
  ) as inner_type(oid)
  union
  select part.oid
  from used
  join pg_catalog.pg_type type on type.oid = used.oid
  cross join lateral (
    select type.typelem where type.typcategory = 'A'
    union all
    select type.typbasetype
    union all
    select own.atttypid
    from pg_catalog.pg_attribute own
    where own.attrelid = type.typrelid and own.attnum > 0 and not own.attisdropped
  ) as part(oid)
  where part.oid <> 0
)
select pg_catalog.json_build_object(
  'types', (
    select coalesce(pg_catalog.json_object_agg(
      pg_catalog.format_type(type.oid, null),
      pg_catalog.json_build_object(
        'kind', type.typtype,
        'schema', space.nspname,
        'name', type.typname,
        'base', case when type.typtype = 'd' then pg_catalog.format_type(type.typbasetype, null) end,
        'max_length', case
          when type.typbasetype in (1042, 1043) and type.typtypmod > 4 then type.typtypmod - 4
          when type.typbasetype in (1560, 1562) and type.typtypmod > 0 then type.typtypmod
        end,
        'labels', (
          select pg_catalog.json_agg(label.enumlabel order by label.enumsortorder)
          from pg_catalog.pg_enum label
          where label.enumtypid = type.oid
        ),
        'columns', (
          select pg_catalog.json_agg(pg_catalog.json_build_array(
            own.attname, pg_catalog.format_type(own.atttypid, null), about.description
          ) order by own.attnum)
          from pg_catalog.pg_attribute own
          left join pg_catalog.pg_description about
            on about.objoid = own.attrelid and about.objsubid = own.attnum
            and about.classoid = 'pg_catalog.pg_class'::regclass
          where own.attrelid = type.typrelid and own.attnum > 0 and not own.attisdropped
        ),
        'comment', pg_catalog.obj_description(type.oid, 'pg_type'),
        'has_json_form', exists (
          select
          from pg_catalog.pg_cast conversion
          where conversion.castsource = type.oid
            and conversion.casttarget = 'pg_catalog.json'::regtype
            and conversion.castmethod = 'f'
        )
      )
    ), '{}')
    from (select distinct oid from used) found
    join pg_catalog.pg_type type on type.oid = found.oid
    join pg_catalog.pg_namespace space on space.oid = type.typnamespace
    where type.oid >= 16384 and not (type.typtype = 'b' and type.typcategory = 'A')
  ),
  'results', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', functions.proname,
      'arguments', (
        select coalesce(pg_catalog.json_agg(pg_catalog.format_type(argument.oid, null) order by argument.position), '[]')
        from pg_catalog.unnest(functions.proargtypes::oid[]) with ordinality as argument(oid, position)
      ),
      'type', pg_catalog.format_type(functions.prorettype, null),
      'columns', (
        select pg_catalog.json_agg(pg_catalog.json_build_array(
          coalesce(result.name, ''), pg_catalog.format_type(result.type, null), null
        ) order by result.position)
        from rows from (
          pg_catalog.unnest(functions.proallargtypes),
          pg_catalog.unnest(functions.proargnames),
          pg_catalog.unnest(functions.proargmodes)
        ) with ordinality as result(type, name, mode, position)
        where result.mode in ('o', 'b', 't')
      )
    )), '[]')
    from functions
  )
)::text
