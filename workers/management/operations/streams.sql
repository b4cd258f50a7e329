-- Streams to other systems (streams.py), as the pool's login. The table: management/0015_streams.sql.

-- name: streams
select pg_catalog.json_build_object(
  'stream', stream, 'schema', table_schema, 'table', table_name, 'kind', kind, 'state', state, 'problem', problem, 'rows', rows,
  'snapshots', snapshots, 'snapshot_reason', snapshot_reason, 'lag_s', lag_s,
  'problem_since', extract(epoch from problem_since)::float8, 'written_at', extract(epoch from written_at)::float8)
from headwater.stream_tables
order by stream, table_schema, table_name
