-- What MATCH reads of the catalog, with an empty search path.

-- name: columns
-- Type and collation of the columns $3 (a JSON array of names) of the table $2 in the schema $1.
select pg_catalog.json_build_object(
  'name', a.attname,
  'type', pg_catalog.format_type(a.atttypid, -1),
  'collation', case when a.attcollation <> t.typcollation then pg_catalog.json_build_array(n.nspname, c.collname) end,
  'is_builtin', t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace)
from pg_catalog.pg_attribute as a
join pg_catalog.pg_type as t on t.oid = a.atttypid
left join pg_catalog.pg_collation as c on c.oid = a.attcollation
left join pg_catalog.pg_namespace as n on n.oid = c.collnamespace
join pg_catalog.pg_class as relation on relation.oid = a.attrelid
where relation.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = $1)
  and relation.relname = $2 and a.attnum > 0 and not a.attisdropped
  and $3::jsonb operator(pg_catalog.?) a.attname::pg_catalog.text
