-- What the log does not tell of tables and types (tables.py, kinds.py), and what to_jsonb says of values.

-- name: primary_key
-- Names of the columns of a table's primary key.
select a.attname::text
from pg_catalog.pg_index as i
join pg_catalog.pg_attribute as a on a.attrelid = i.indrelid and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])
where i.indrelid = $1::oid and i.indisprimary

-- name: types
-- Types with all they consist of: the base of a domain, the elements of an array. `form` is how SQL spells the type;
-- `has_cast` tells that to_jsonb would call a function of somebody.
with recursive asked (oid) as (
  select pg_catalog.unnest($1::oid[])
  union
  select case when t.typtype = 'd' then t.typbasetype else t.typelem end
  from asked
  join pg_catalog.pg_type as t on t.oid = asked.oid
  where t.typtype = 'd' or t.typcategory = 'A'
)
select
  t.oid::int8 as oid,
  t.typname::text as name,
  t.typtype::text as type,
  case when t.typtype = 'd' then t.typbasetype::int8 else 0 end as base,
  case
    when t.typcategory = 'A' and t.typelem <> 0 and e.typarray = t.oid then t.typelem::int8
    else 0
  end as element,
  coalesce(e.typdelim::text, ',') as delimiter,
  pg_catalog.format_type(t.oid, null) as form,
  t.oid >= 16384 and exists (
    select from pg_catalog.pg_cast as c
    where c.castsource = t.oid and c.casttarget = 'pg_catalog.json'::pg_catalog.regtype and c.castmethod = 'f'
  ) as has_cast
from asked
join pg_catalog.pg_type as t on t.oid = asked.oid
left join pg_catalog.pg_type as e on e.oid = t.typelem
