-- Statements of check_database.py for a superuser's session. All names are qualified.

-- name: make_amcheck
-- The project may have it elsewhere, where others may create functions.
drop extension if exists amcheck cascade;
create extension amcheck with schema headwater

-- name: indexes
-- A statement for each valid B-tree index that checks its structure.
select pg_catalog.format('%I.%I', namespace.nspname, relation.relname) as name,
  pg_catalog.format('select headwater.bt_index_check(%s::pg_catalog.regclass)', relation.oid) as statement
from pg_catalog.pg_index as index
join pg_catalog.pg_class as relation on relation.oid = index.indexrelid
join pg_catalog.pg_am as method on method.oid = relation.relam
join pg_catalog.pg_namespace as namespace on namespace.oid = relation.relnamespace
where method.amname = 'btree' and relation.relkind = 'i' and relation.relpersistence = 'p' and index.indisready and index.indisvalid
order by 1

-- name: heaps
-- A statement for each table that returns the first damage of its heap; null where there is none.
select pg_catalog.format('%I.%I', namespace.nspname, relation.relname) as name,
  pg_catalog.format('select msg from headwater.verify_heapam(%s::pg_catalog.regclass, on_error_stop => true) limit 1',
    relation.oid) as statement
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as namespace on namespace.oid = relation.relnamespace
where relation.relkind in ('r', 'm') and relation.relpersistence = 'p'
order by 1
