-- What a trial of a migration observes (text_migration.py).

-- name: set
-- A setting ($1) of the transaction.
select pg_catalog.set_config($1, $2, true)

-- name: files
-- The storage of each table; another file afterwards means that the table was rewritten.
select relation.oid as relation, relation.relfilenode as file
from pg_catalog.pg_class as relation
where relation.relkind in ('r', 'm') and relation.relfilenode operator(pg_catalog.<>) 0
  and relation.relpersistence operator(pg_catalog.<>) 't'
  and relation.relnamespace operator(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace
  and relation.relnamespace operator(pg_catalog.<>) 'pg_toast'::pg_catalog.regnamespace

-- name: locks
-- The strongest lock of this transaction on each table that existed before ($1), from RowExclusiveLock on.
select distinct on (lock.relation) lock.relation as relation, lock.mode as mode,
  pg_catalog.format('%I.%I', schema.nspname, relation.relname) as name
from pg_catalog.pg_locks as lock
join pg_catalog.pg_class as relation on relation.oid operator(pg_catalog.=) lock.relation
join pg_catalog.pg_namespace as schema on schema.oid operator(pg_catalog.=) relation.relnamespace
cross join pg_catalog.array_position(array['RowExclusiveLock', 'ShareUpdateExclusiveLock', 'ShareLock',
  'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'], lock.mode) as strength
where lock.pid operator(pg_catalog.=) pg_catalog.pg_backend_pid() and lock.granted
  and lock.locktype operator(pg_catalog.=) 'relation' and strength is not null
  and lock.relation operator(pg_catalog.=) any ($1::pg_catalog.oid[])
order by lock.relation, strength desc
