-- Statements of the leader of the pool streams (workers/streams). The table: management/0015_streams.sql.

-- name: forget
-- Tables that are in no stream any more.
delete from headwater.stream_tables as t
where not exists (
  select from unnest($1::text[], $2::text[], $3::text[]) as w (stream, table_schema, table_name)
  where (w.stream, w.table_schema, w.table_name) = (t.stream, t.table_schema, t.table_name)
)

-- name: begin
-- A table that joins a paused stream is paused.
insert into headwater.stream_tables (stream, table_schema, table_name, kind, is_paused)
values ($1, $2, $3, $4, exists (select from headwater.stream_tables where stream = $1 and is_paused))
on conflict (stream, table_schema, table_name) do update
set kind = excluded.kind, place = case when stream_tables.kind = excluded.kind then stream_tables.place else '' end

-- name: requests
-- What administrators request of each table.
select stream, table_schema, table_name, is_paused, copy_again_at::text as copy_again_at from headwater.stream_tables

-- name: copied_again
update headwater.stream_tables set copy_again_at = null where (stream, table_schema, table_name) = ($1, $2, $3) and copy_again_at::text = $4

-- name: place
select place, idle_place, idle_seq from headwater.stream_tables where (stream, table_schema, table_name) = ($1, $2, $3)

-- name: state
-- What is wrong stays dated from when it began.
update headwater.stream_tables
set
  state = $4, problem = $5, problem_since = case when $5 = '' then null when problem = '' then pg_catalog.now() else problem_since end,
  snapshot_reason = case when $4 = 'snapshot' then $6 else snapshot_reason end
where (stream, table_schema, table_name) = ($1, $2, $3)

-- name: written
update headwater.stream_tables
set
  state = 'following', problem = '', problem_since = null, rows = rows + $4, written_at = pg_catalog.now(), lag_s = $5, place = $6,
  idle_place = '', idle_seq = 0, lsn = $7, lsn_at = pg_catalog.now(), snapshots = snapshots + case when state = 'snapshot' then 1 else 0 end
where (stream, table_schema, table_name) = ($1, $2, $3)

-- name: idle
-- Nothing followed a place up to a number of the stream.
update headwater.stream_tables set idle_place = $4, idle_seq = $5, lag_s = 0, lsn = greatest(lsn, $6), lsn_at = pg_catalog.now()
where (stream, table_schema, table_name) = ($1, $2, $3)

-- name: publish
select realtime.publish_for_sync($1::oid)

-- name: writers
-- Transactions that have written to a table and are still running.
select w from realtime.writers_of(array[$1::oid]) as w

-- name: table
-- A table by its names, with its columns in order. key_columns: those that its primary key has, generated ones too, which no message has;
-- has_other_identity: the log names a deleted row by an index that lacks columns of the primary key.
-- A column has the base type of a domain; has_former: rows from before it was added have a value.
select
  c.oid::int8 as relation, c.relkind::text as kind, coalesce(i.indnkeyatts, 0)::int4 as key_columns,
  c.relreplident = 'i' and exists (
    select from pg_catalog.pg_index as r
    where r.indrelid = c.oid and r.indisreplident
      and not ((i.indkey::int2[])[0:i.indnkeyatts - 1] <@ (r.indkey::int2[])[0:r.indnkeyatts - 1])
  ) as has_other_identity,
  (
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'number', a.attnum, 'name', a.attname, 'type', coalesce(b.typname, t.typname), 'sql_type', pg_catalog.quote_ident(tn.nspname) || '.' || pg_catalog.quote_ident(t.typname),
      'type_modifier', case when t.typtype = 'd' then t.typtypmod else a.atttypmod end, 'is_enum', t.typtype = 'e',
      'is_text_plain', coalesce(k.collisdeterministic, true),
      'has_former', a.atthasmissing or a.atthasdef or a.attidentity <> '' or a.attnotnull,
      'key_place', pg_catalog.array_position((i.indkey::int2[])[0:i.indnkeyatts - 1], a.attnum)
    ) order by a.attnum)
    from pg_catalog.pg_attribute as a
    join pg_catalog.pg_type as t on t.oid = a.atttypid
    join pg_catalog.pg_namespace as tn on tn.oid = t.typnamespace
    left join pg_catalog.pg_type as b on b.oid = t.typbasetype
    left join pg_catalog.pg_collation as k on k.oid = a.attcollation
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  )::text as columns,
  coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_array(pn.nspname, pc.relname))
    from pg_catalog.pg_partition_tree(c.oid) as part
    join pg_catalog.pg_class as pc on pc.oid = part.relid
    join pg_catalog.pg_namespace as pn on pn.oid = pc.relnamespace
  ), '[]')::text as parts
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
left join pg_catalog.pg_index as i on i.indrelid = c.oid and i.indisprimary
where n.nspname = $1 and c.relname = $2
