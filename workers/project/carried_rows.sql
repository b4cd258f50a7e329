-- Rows of the platform itself that go from a replaced database to the new one (carried_rows.py); in superuser sessions.

-- name: columns
-- The columns of a table of schema headwater that a row is written with; none if there is no such table.
select a.attname::pg_catalog.text as name
from pg_catalog.pg_attribute as a
join pg_catalog.pg_class as c on c.oid operator(pg_catalog.=) a.attrelid
join pg_catalog.pg_namespace as n on n.oid operator(pg_catalog.=) c.relnamespace
where n.nspname operator(pg_catalog.=) 'headwater' and c.relname operator(pg_catalog.=) $1::pg_catalog.text::pg_catalog.name
  and a.attnum operator(pg_catalog.>) 0 and not a.attisdropped and a.attgenerated operator(pg_catalog.=) ''
order by a.attnum

-- name: continue_ids
-- The ids of new audit rows follow those that were carried.
select pg_catalog.setval(pg_catalog.pg_get_serial_sequence('headwater.administrator_audit', 'id'),
  greatest(pg_catalog.max(id), 1), pg_catalog.max(id) is not null)
from headwater.administrator_audit
