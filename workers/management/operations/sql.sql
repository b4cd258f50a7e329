-- What the operations on SQL look up; every name is qualified, for these run beside objects of tenants.

-- name: type_names
-- Names of types ($1: oids) with their modifiers ($2), in their order.
select pg_catalog.format_type(types.oid, types.modifier)
from rows from (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int4[]))
  with ordinality as types (oid, modifier, place)
order by types.place

-- name: estimates
-- The planner's estimates of the rows of tables ($1: quoted names), in their order; null for what is no table or not analyzed.
select case when relation.reltuples operator(pg_catalog.>=) 0 then relation.reltuples end
from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality as names (name, place)
left join pg_catalog.pg_class as relation on relation.oid operator(pg_catalog.=) pg_catalog.to_regclass(names.name)
  and relation.relkind in ('r', 'p', 'm', 'f')
order by names.place
