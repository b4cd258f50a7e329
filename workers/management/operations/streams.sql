-- Streams to other systems (streams.py), as the pool's login. The table: management/0015_streams.sql.

-- name: streams
select pg_catalog.json_build_object(
  'stream', stream, 'schema', table_schema, 'table', table_name, 'kind', kind, 'state', state, 'problem', problem, 'rows', rows,
  'snapshots', snapshots, 'snapshot_reason', snapshot_reason, 'lag_s', lag_s,
  'is_paused', is_paused, 'is_copied_again', copy_again_at is not null,
  'behind_s', case when state = 'following' then lag_s else extract(epoch from pg_catalog.clock_timestamp() - lsn_at)::float8 end,
  'behind_bytes', case
    when state = 'following' and idle_place <> '' then 0
    when lsn > 0 then greatest(0, pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_catalog.pg_lsn - lsn) end,
  'problem_since', extract(epoch from problem_since)::float8, 'written_at', extract(epoch from written_at)::float8)
from headwater.stream_tables
order by stream, table_schema, table_name

-- name: pause
update headwater.stream_tables set is_paused = $2::boolean where stream = $1::text returning true

-- name: copy_again
update headwater.stream_tables set copy_again_at = pg_catalog.clock_timestamp()
where stream = $1::text and table_schema = $2::text and table_name = $3::text returning true

-- name: notify
select pg_catalog.pg_notify('headwater_streams', '')
