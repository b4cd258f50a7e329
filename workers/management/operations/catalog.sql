-- The objects of the database for administrators; every name is qualified, for these run beside objects of tenants.

-- name: schemas
-- All schemas but temporary ones; $1: names of the platform's.
select pg_catalog.json_build_object('name', schema.nspname, 'owner', pg_catalog.pg_get_userbyid(schema.nspowner),
  'comment', pg_catalog.obj_description(schema.oid, 'pg_namespace'),
  'is_platform', schema.nspname operator(pg_catalog.=) any ($1::pg_catalog.text[])
    or schema.nspname operator(pg_catalog.~) '^(pg_|information_schema$)',
  'tables', (select pg_catalog.count(*) from pg_catalog.pg_class as relation
    where relation.relnamespace operator(pg_catalog.=) schema.oid and relation.relkind in ('r', 'p', 'v', 'm', 'f')))
from pg_catalog.pg_namespace as schema
where schema.nspname operator(pg_catalog.!~) '^pg_(toast|temp)'
order by schema.nspname

-- name: find_type
-- The name of the type that a text ($1) names, null without one. A migration finds types of these two schemas without naming them.
select pg_catalog.to_json(pg_catalog.format_type(coalesce(pg_catalog.to_regtype($1::pg_catalog.text),
  pg_catalog.to_regtype('public.' operator(pg_catalog.||) $1), pg_catalog.to_regtype('extensions.' operator(pg_catalog.||) $1))::pg_catalog.oid, null))

-- name: tables
-- Tables and views of a schema ($1), with the estimates of the planner's statistics.
select pg_catalog.json_build_object('schema', schema.nspname, 'name', relation.relname,
  'kind', case relation.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' else 'foreign table' end,
  'rows', case when relation.reltuples operator(pg_catalog.<) 0 then null else relation.reltuples::pg_catalog.int8 end,
  'bytes', pg_catalog.pg_total_relation_size(relation.oid),
  'has_row_security', relation.relrowsecurity,
  'policies', (select pg_catalog.count(*) from pg_catalog.pg_policy as policy
    where policy.polrelid operator(pg_catalog.=) relation.oid),
  'comment', pg_catalog.obj_description(relation.oid, 'pg_class'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as schema on schema.oid operator(pg_catalog.=) relation.relnamespace
where relation.relkind in ('r', 'p', 'v', 'm', 'f') and not relation.relispartition
  and schema.nspname operator(pg_catalog.=) $1::pg_catalog.text::pg_catalog.name
order by relation.relname
