-- Stored versions of rows (stored.py). The tables: management/0014_history.sql. Timestamps are texts in UTC.

-- name: table
-- A table with history by its name, with its gaps; no row without a history.
select pg_catalog.row_to_json(found)
from (
  select
    t.id, t.key, t.days, t.is_on, pg_catalog.to_json(t.since at time zone 'UTC') #>> '{}' || 'Z' as since,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'after_lsn', g.after_lsn, 'reason', g.reason, 'at', pg_catalog.to_json(g.at at time zone 'UTC') #>> '{}' || 'Z') order by g.after_lsn)
      from headwater_history.gaps as g where g.table_id = t.id
    ), '[]') as gaps
  from headwater_history.tables as t
  where t.table_schema = $1 and t.table_name = $2
  order by t.is_on desc, t.id desc
  limit 1
) as found

-- name: tables
-- All tables with history, with what they take.
select pg_catalog.row_to_json(found)
from (
  select
    t.id, t.table_schema as schema, t.table_name as "table", t.key, t.days, t.is_on,
    pg_catalog.to_json(t.since at time zone 'UTC') #>> '{}' || 'Z' as since,
    coalesce((
      select pg_catalog.sum(pg_catalog.pg_total_relation_size(c.oid))::int8 from headwater_history.partitions as p
      join pg_catalog.pg_class as c on c.relname = p.name and c.relnamespace = 'headwater_history'::pg_catalog.regnamespace
      where p.table_id = t.id
    ), 0) as size_bytes,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_object(
        'after_lsn', g.after_lsn, 'reason', g.reason, 'at', pg_catalog.to_json(g.at at time zone 'UTC') #>> '{}' || 'Z') order by g.after_lsn)
      from headwater_history.gaps as g where g.table_id = t.id
    ), '[]') as gaps
  from headwater_history.tables as t
  order by t.table_schema, t.table_name, t.id
) as found

-- name: versions
-- Versions of rows by the texts of their keys, the newest first, before a position, and (without keys) truncations alone.
select pg_catalog.row_to_json(found)
from (
  select
    v.lsn, v.number, v.index, pg_catalog.to_json(v.at at time zone 'UTC') #>> '{}' || 'Z' as at, v.operation, v.key, v.former_key,
    v.before, v.after, v.omitted, v.source, v.request_id, v.role, v.sub, v.area, v.request, v.login, v.by_trigger
  from headwater_history.versions as v
  where v.table_id = $1::int4 and (v.key = any ($2::text[]) or v.former_key = any ($2::text[]))
    and ($3::int8 is null or (v.lsn, v.number, v.index) < ($3::int8, $4::int4, $5::int4))
  order by v.lsn desc, v.number desc, v.index desc
  limit $6::int4
) as found

-- name: changed_since
-- The earliest version behind a moment of each row, by the key that it had at the moment or has got since, the newest first; of the given keys,
-- or of all rows. is_truncated: the table was truncated between the moment and that version.
with later as materialized (
  select v.*
  from headwater_history.versions as v
  where v.table_id = $1::int4 and v.at > $2::timestamptz
    and ($3::text[] is null or v.key = any ($3::text[]) or v.former_key = any ($3::text[])
      or (v.key is null and v.operation = 'truncate'))
  order by v.at desc, v.lsn desc, v.number desc, v.index desc
  limit $4::int4
),
first as (
  select distinct on (k.key) k.key as row_key, v.*
  from later as v cross join lateral (values (v.key), (v.former_key)) as k (key)
  where k.key is not null and ($3::text[] is null or k.key = any ($3::text[]))
  order by k.key, v.lsn, v.number, v.index
)
select pg_catalog.json_build_object(
  'row_key', v.row_key,
  'is_truncated', exists (
    select from later as t where t.operation = 'truncate' and (t.lsn, t.number, t.index) < (v.lsn, v.number, v.index)
  ),
  'read', (select pg_catalog.count(*) from later),
  'version', pg_catalog.json_build_object(
    'lsn', v.lsn, 'number', v.number, 'index', v.index, 'at', pg_catalog.to_json(v.at at time zone 'UTC') #>> '{}' || 'Z',
    'operation', v.operation, 'source', v.source, 'key', v.key, 'former_key', v.former_key, 'before', v.before, 'after', v.after,
    'omitted', v.omitted
  )
)
from first as v
order by v.lsn desc, v.number desc, v.index desc

-- name: version
-- One version of a table by its position.
select pg_catalog.row_to_json(found)
from (
  select
    v.lsn, v.number, v.index, pg_catalog.to_json(v.at at time zone 'UTC') #>> '{}' || 'Z' as at, v.operation, v.key, v.former_key,
    v.before, v.after, v.omitted, v.source, v.request_id, v.role, v.sub, v.area, v.request, v.login, v.by_trigger
  from headwater_history.versions as v
  where v.table_id = $1::int4 and v.lsn = $2::int8 and v.number = $3::int4 and v.index = $4::int4
) as found

-- name: unpublished_columns
-- Why generated columns keep a table from a history; '' if nothing does.
select headwater.unpublished_columns(c.oid)
from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname = $1::text and c.relname = $2::text

-- name: readable
-- The names of a table's columns that a role may read.
select a.attname::text
from pg_catalog.pg_attribute as a
where a.attrelid = pg_catalog.to_regclass(pg_catalog.format('%I.%I', $1::text, $2::text)) and a.attnum > 0 and not a.attisdropped
  and pg_catalog.has_column_privilege($3::name, a.attrelid, a.attnum, 'select')

-- name: erase_rows
-- Remove the versions of rows by their keys, and return how many there were.
with gone as (
  delete from headwater_history.versions as v
  where v.table_id = $1::int4 and (v.key = any ($2::text[]) or v.former_key = any ($2::text[]))
  returning 1
)
select pg_catalog.to_json(pg_catalog.count(*)) from gone

-- name: erase_rows_of
-- Remove the versions of rows of which a column ever had a value, by the value as JSON; all versions of such a row go. Return how many.
with keys as (
  select distinct k.key
  from headwater_history.versions as v
  cross join lateral (values (v.key), (v.former_key)) as k (key)
  where v.table_id = $1::int4 and k.key is not null
    and (v.after ->> $2::text = $3::text or v.before ->> $2::text = $3::text)
),
gone as (
  delete from headwater_history.versions as v
  where v.table_id = $1::int4 and (v.key in (select key from keys) or v.former_key in (select key from keys))
  returning 1
)
select pg_catalog.to_json(pg_catalog.count(*)) from gone

-- name: erase_names
-- Remove a person from causes, and return from how many versions. The versions stay.
with changed as (
  update headwater_history.versions as v
  set sub = null, request_id = null, request = null
  where v.sub = $1::text
  returning 1
)
select pg_catalog.to_json(pg_catalog.count(*)) from changed

-- name: forget
select headwater.history_forget($1::int4)

-- name: references_to_users
-- Columns of tables with history that reference auth.users.
select t.id, a.attname::text
from headwater_history.tables as t
join pg_catalog.pg_constraint as c on c.conrelid = t.relation and c.contype = 'f' and pg_catalog.cardinality(c.conkey) = 1
join pg_catalog.pg_class as u on u.oid = c.confrelid and u.relname = 'users'
join pg_catalog.pg_namespace as n on n.oid = u.relnamespace and n.nspname = 'auth'
join pg_catalog.pg_attribute as a on a.attrelid = t.relation and a.attnum = c.conkey[1]
