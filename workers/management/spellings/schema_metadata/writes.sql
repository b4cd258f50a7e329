-- What changes need to know of the catalog beside the object itself.

-- name: new_function
-- The function of this name that the current transaction created.
select function.oid::text
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as space on space.oid = function.pronamespace
where space.nspname = $1 and function.proname = $2::name
  and function.xmin = pg_catalog.pg_current_xact_id()::xid
order by function.oid desc limit 1

-- name: primary_key
select conname from pg_catalog.pg_constraint where conrelid = $1::oid and contype = 'p'

-- name: unique_keys
select conname from pg_catalog.pg_constraint
where conrelid = $1::oid and contype = 'u' and pg_catalog.cardinality(conkey) = 1 and conkey[1] = $2::smallint
order by oid

-- name: checks
select conname from pg_catalog.pg_constraint
where conrelid = $1::oid and contype = 'c' and pg_catalog.cardinality(conkey) = 1 and conkey[1] = $2::smallint
order by oid

-- name: relations
-- Relations by their ids: $1.
select relation.oid::text, pg_catalog.json_build_object('schema', space.nspname, 'name', relation.relname)
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where relation.oid = any($1::oid[]) and relation.relkind in ('r', 'v', 'm', 'f', 'p')

-- name: relation_columns
-- Columns by their ids: $1.
select pg_catalog.concat(relation.oid, '.', attribute.attnum), pg_catalog.json_build_object(
  'schema', space.nspname, 'table', relation.relname, 'name', attribute.attname)
from pg_catalog.pg_attribute as attribute
join pg_catalog.pg_class as relation on relation.oid = attribute.attrelid
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where pg_catalog.concat(relation.oid, '.', attribute.attnum) = any($1::text[])
  and relation.relkind in ('r', 'v', 'm', 'f', 'p') and attribute.attnum > 0 and not attribute.attisdropped
