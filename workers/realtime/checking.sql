-- What CHECK reads of the catalog, with an empty search path.

-- name: published
-- For each entry ($1, a JSON array of {number, schema, table, columns}, where * is every schema or table) the published
-- tables it means, with what the columns are that it names, for the role $2.
select pg_catalog.json_build_object(
  'number', entry.number,
  'columns', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', a.attname,
      'typname', t.typname,
      'type', pg_catalog.format_type(a.atttypid, -1),
      'is_enum', t.typtype = 'e',
      'is_builtin', t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace,
      'is_deterministic', coalesce(c.collisdeterministic, true),
      'is_by_bytes', case
        when c.collprovider = 'd' then (
          select d.datlocprovider = 'b' or (d.datlocprovider = 'c' and d.datcollate in ('C', 'POSIX'))
          from pg_catalog.pg_database as d where d.datname = pg_catalog.current_database())
        else c.collprovider = 'b' or (c.collprovider = 'c' and c.collcollate in ('C', 'POSIX'))
      end is true)), '[]')
    from pg_catalog.pg_attribute as a
    join pg_catalog.pg_type as t on t.oid = a.atttypid
    left join pg_catalog.pg_collation as c on c.oid = a.attcollation
    where a.attrelid = relation.oid and a.attnum > 0 and not a.attisdropped
      and a.attname = any(entry.columns)
      and pg_catalog.has_schema_privilege(role.oid, n.oid, 'USAGE')
      and pg_catalog.has_column_privilege(role.oid, a.attrelid, a.attnum, 'SELECT')))
from pg_catalog.jsonb_to_recordset($1) as entry (number int, schema text, "table" text, columns text[])
join pg_catalog.pg_publication_tables as published on published.pubname = 'supabase_realtime'
  and entry.schema in (published.schemaname, '*') and entry.table in (published.tablename, '*')
join pg_catalog.pg_namespace as n on n.nspname = published.schemaname
join pg_catalog.pg_class as relation on relation.relnamespace = n.oid and relation.relname = published.tablename
join pg_catalog.pg_roles as role on role.rolname = $2

-- name: role
-- Whether the role $1 is there.
select exists (select from pg_catalog.pg_roles where rolname = $1)
