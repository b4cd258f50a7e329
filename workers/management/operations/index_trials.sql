-- Tables of which an index may help. Every statement runs after `search_path` was set to pg_catalog (SESSION_SETTINGS of statistics/reading.py).

-- name: indexable
-- $1: candidates (schema, table, columns) as JSON, $2: schemas that are left out. Left out are also columns that an index has first already.
select json_build_object('schema', candidate.schema, 'table', candidate.table, 'columns', candidate.columns,
  'rows', greatest(relation.reltuples, 0)::int8, 'table_bytes', relation.relpages::int8 * current_setting('block_size')::int8,
  'definition', format('create index concurrently on %I.%I (%s);', candidate.schema, candidate.table, indexed.list))
from jsonb_to_recordset($1::jsonb) as candidate (schema text, "table" text, columns jsonb)
join pg_catalog.pg_namespace as schema on schema.nspname = candidate.schema::name
join pg_catalog.pg_class as relation on relation.relnamespace = schema.oid and relation.relname = candidate.table::name
cross join lateral (
  select string_agg(quote_ident(field.attname), ', ' order by name.position) as list, count(*) as columns,
    array_agg(field.attnum order by name.position) as numbers
  from jsonb_array_elements_text(candidate.columns) with ordinality as name (text, position)
  join pg_catalog.pg_attribute as field on field.attrelid = relation.oid and field.attname = name.text::name
    and field.attnum > 0 and not field.attisdropped
) as indexed
where relation.relkind = 'r' and not relation.relispartition and relation.relpersistence <> 't'
  and not $2::jsonb ? candidate.schema and candidate.schema !~ '^pg_' and candidate.schema <> 'information_schema'
  and indexed.columns = jsonb_array_length(candidate.columns)
  and not exists (
    select from pg_catalog.pg_index as entry
    where entry.indrelid = relation.oid and entry.indisvalid and entry.indpred is null
      and (entry.indkey::int2[])[0 : indexed.columns::int4 - 1] = indexed.numbers)
