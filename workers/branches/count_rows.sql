-- Statements of check_database.py that run as role postgres.

-- name: tables
-- A statement for each table that counts its rows; tables of the catalog, of sessions, of more than $1 rows and those named by $2 are left out.
select pg_catalog.format('%I.%I', namespace.nspname, relation.relname) as name,
  pg_catalog.format('select pg_catalog.count(*) from only %I.%I', namespace.nspname, relation.relname) as statement
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as namespace on namespace.oid = relation.relnamespace
where relation.relkind = 'r' and relation.relpersistence = 'p' and relation.reltuples <= $1::pg_catalog.float8
  and namespace.nspname not in ('pg_catalog', 'information_schema')
  and pg_catalog.format('%I.%I', namespace.nspname, relation.relname) <> all ($2::pg_catalog.text[])
  and pg_catalog.has_schema_privilege(namespace.oid, 'usage')
  and pg_catalog.has_table_privilege(relation.oid, 'select')
order by 1

-- name: position
select pg_catalog.pg_current_wal_insert_lsn()::pg_catalog.text
