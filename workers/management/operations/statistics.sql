-- Statistics of the server. Every statement runs after `search_path` was set to pg_catalog (SESSION_SETTINGS of statistics/reading.py).

-- name: statements_function
-- The function behind pg_stat_statements. Only a superuser can make a function of a library, so no object of a project passes for it.
select json_build_object('schema', schema.nspname, 'name', function.proname,
  'reset', (select reset.proname from pg_catalog.pg_proc as reset
    where reset.pronamespace = function.pronamespace and reset.proname = 'pg_stat_statements_reset' and reset.pronargs >= 3
      and reset.prolang = function.prolang and reset.probin = function.probin))
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as schema on schema.oid = function.pronamespace
join pg_catalog.pg_language as language on language.oid = function.prolang
where function.proname = 'pg_stat_statements' and language.lanname = 'c' and function.probin ~ '^(\$libdir/)?pg_stat_statements$'
  and function.prosrc ~ '^pg_stat_statements' and function.proargtypes::text = '16'

-- name: statements
-- {function} is the quoted name of the function; $1 order, $2 role, $3 most rows, $4 statement id, $5 characters of a text.
select json_build_object('id', counted.queryid::text, 'role', pg_get_userbyid(counted.userid), 'text', left(counted.query, $5::int4),
  'calls', counted.calls, 'total_ms', counted.total_exec_time, 'mean_ms', counted.mean_exec_time, 'min_ms', counted.min_exec_time,
  'max_ms', counted.max_exec_time, 'rows', counted.rows, 'blocks_hit', counted.shared_blks_hit,
  'blocks_read', counted.shared_blks_read, 'blocks_written', counted.shared_blks_written,
  'temp_blocks', counted.temp_blks_written, 'share', counted.total_exec_time / nullif(sum(counted.total_exec_time) over (), 0))
from {function}(true) as counted
where counted.dbid = (select own.oid from pg_catalog.pg_database as own where own.datname = current_database())
  and ($2::text is null or pg_get_userbyid(counted.userid) = $2::text::name)
  and ($4::text is null or counted.queryid::text = $4::text)
order by case $1::text when 'total_time' then counted.total_exec_time when 'mean_time' then counted.mean_exec_time
  when 'calls' then counted.calls when 'rows' then counted.rows else counted.shared_blks_hit + counted.shared_blks_read end desc,
  counted.queryid
limit $3::int4

-- name: reset
-- {function} is the quoted name of the function. Only the statistics of this database are reset.
select to_json({function}(0::oid, (select own.oid from pg_catalog.pg_database as own where own.datname = current_database()), 0::int8) is null)

-- name: running
-- Sessions of this database, and which of them block others. $1 also idle ones, $2 most rows.
select json_build_object('pid', session.pid, 'role', session.usename, 'application', session.application_name,
  'address', session.client_addr::text, 'state', session.state, 'text', left(session.query, 4000),
  'started_at', session.backend_start, 'transaction_s', extract(epoch from now() - session.xact_start),
  'statement_s', case when session.state = 'active' then extract(epoch from clock_timestamp() - session.query_start) end,
  'wait', session.wait_event_type || ': ' || session.wait_event, 'backend', session.backend_type,
  'blocked_by', pg_blocking_pids(session.pid))
from pg_catalog.pg_stat_activity as session
where session.datname = current_database() and session.pid <> pg_backend_pid()
  and ($1::bool or session.state is distinct from 'idle')
order by session.xact_start nulls last, session.pid limit $2::int4

-- name: locks
-- Locks of this database that are awaited, and those that keep them waiting; $1 most rows.
with locks as materialized (select * from pg_catalog.pg_locks),
waiting as materialized (
  select lock.*, pg_blocking_pids(lock.pid) as blocked_by from locks as lock where not lock.granted and lock.pid is not null
),
shown as (
  select lock.pid, lock.mode, lock.granted, lock.locktype, lock.relation, lock.waitstart, lock.database,
    coalesce((select waiting.blocked_by from waiting where waiting.pid = lock.pid and not lock.granted limit 1), '{}') as blocked_by
  from locks as lock
  where not lock.granted and lock.pid is not null or exists (
    select from waiting where lock.pid = any(waiting.blocked_by)
      and row(lock.locktype, lock.database, lock.relation, lock.page, lock.tuple, lock.virtualxid, lock.transactionid::text, lock.classid,
        lock.objid, lock.objsubid)
      is not distinct from row(waiting.locktype, waiting.database, waiting.relation, waiting.page, waiting.tuple, waiting.virtualxid,
        waiting.transactionid::text, waiting.classid, waiting.objid, waiting.objsubid))
)
select json_build_object('pid', lock.pid, 'schema', schema.nspname, 'relation', relation.relname, 'mode', lock.mode,
  'is_granted', lock.granted, 'kind', lock.locktype, 'waits_s', extract(epoch from clock_timestamp() - lock.waitstart),
  'blocked_by', lock.blocked_by)
from shown as lock
left join pg_catalog.pg_class as relation on relation.oid = lock.relation
left join pg_catalog.pg_namespace as schema on schema.oid = relation.relnamespace
where lock.database is null or lock.database in (
  select own.oid from pg_catalog.pg_database as own where own.datname = current_database() union all select 0)
order by lock.granted, lock.waitstart, lock.pid, schema.nspname, relation.relname, lock.mode limit $1::int4

-- name: session_of
-- $1 process id.
select json_build_object('pid', session.pid, 'role', session.usename, 'application', session.application_name, 'state', session.state,
  'is_of_a_client', session.backend_type = 'client backend', 'started_at', session.backend_start, 'statement_at', session.query_start)
from pg_catalog.pg_stat_activity as session
where session.pid = $1::int4 and session.datname = current_database()

-- name: cancel
-- Cancel the statement that session $1, begun at $2, began at $3. A later statement, or a process of the same number, is left alone.
select pg_cancel_backend(session.pid) from pg_catalog.pg_stat_activity as session
where session.pid = $1::int4 and session.backend_start is not distinct from $2::text::timestamptz
  and session.query_start is not distinct from $3::text::timestamptz and session.state in ('active', 'fastpath function call')
  and session.pid <> pg_backend_pid()

-- name: terminate
-- End session $1, begun at $2, whatever it does.
select pg_terminate_backend(session.pid) from pg_catalog.pg_stat_activity as session
where session.pid = $1::int4 and session.backend_start is not distinct from $2::text::timestamptz and session.pid <> pg_backend_pid()

-- name: tables
-- Sizes, scans, dead rows and vacuum of tables; $1 schema or null, $2 most rows. To measure a table waits for whoever changes it, so
-- sizes of tables that are being changed are null.
with locked as materialized (
  select lock.relation from pg_catalog.pg_locks as lock where lock.mode = 'AccessExclusiveLock' and lock.granted and lock.relation is not null
    and lock.database = (select own.oid from pg_catalog.pg_database as own where own.datname = current_database())
),
measured as materialized (
  select counted.*, entry.reltuples, entry.relfrozenxid, entry.reloptions, is_locked.value as is_locked,
    case when not is_locked.value then pg_total_relation_size(counted.relid) end as bytes
  from pg_catalog.pg_stat_user_tables as counted
  join pg_catalog.pg_class as entry on entry.oid = counted.relid
  cross join lateral (select counted.relid in (select locked.relation from locked) or exists (
    select from pg_catalog.pg_index as part where part.indrelid = counted.relid and part.indexrelid in (select locked.relation from locked))
    as value) as is_locked
  where ($1::text is null or counted.schemaname = $1::text::name) and counted.schemaname !~ '^pg_' and entry.relkind <> 'p'
)
select json_build_object('schema', counted.schemaname, 'name', counted.relname, 'bytes', counted.bytes,
  'table_bytes', case when not counted.is_locked then pg_table_size(counted.relid) end,
  'index_bytes', case when not counted.is_locked then pg_indexes_size(counted.relid) end,
  'rows', case when counted.reltuples < 0 then null else counted.reltuples::int8 end, 'live_rows', counted.n_live_tup,
  'dead_rows', counted.n_dead_tup, 'sequential_scans', counted.seq_scan, 'index_scans', coalesce(counted.idx_scan, 0),
  'inserted', counted.n_tup_ins, 'updated', counted.n_tup_upd, 'deleted', counted.n_tup_del, 'hot_updated', counted.n_tup_hot_upd,
  'vacuumed_at', greatest(counted.last_vacuum, counted.last_autovacuum),
  'analyzed_at', greatest(counted.last_analyze, counted.last_autoanalyze),
  'wraparound_age', age(counted.relfrozenxid), 'blocks_hit', blocks.heap_blks_hit, 'blocks_read', blocks.heap_blks_read,
  'autovacuum', not exists (select from pg_options_to_table(counted.reloptions) as option
    where option.option_name = 'autovacuum_enabled' and lower(option.option_value) in ('false', 'off', 'no', '0', 'f', 'n')))
from measured as counted
join pg_catalog.pg_statio_user_tables as blocks on blocks.relid = counted.relid
order by counted.bytes desc nulls first, counted.relid limit $2::int4

-- name: missing_indexes
-- Tables with more than 10000 rows that are mostly read whole; $1 most rows.
select json_build_object('schema', counted.schemaname, 'name', counted.relname, 'rows', counted.n_live_tup,
  'sequential_scans', counted.seq_scan, 'rows_read', counted.seq_tup_read, 'index_scans', coalesce(counted.idx_scan, 0))
from pg_catalog.pg_stat_user_tables as counted
where counted.n_live_tup > 10000 and counted.seq_scan > 50 and counted.seq_scan > coalesce(counted.idx_scan, 0)
order by counted.seq_tup_read desc limit $1::int4

-- name: indexes
-- Indexes with their sizes and uses; $1 schema or null, $2 most rows. Sizes of indexes that are being changed are null.
with locked as materialized (
  select lock.relation from pg_catalog.pg_locks as lock where lock.mode = 'AccessExclusiveLock' and lock.granted and lock.relation is not null
    and lock.database = (select own.oid from pg_catalog.pg_database as own where own.datname = current_database())
),
measured as materialized (
  select counted.*, entry.indisunique, entry.indisvalid,
    case when counted.indexrelid not in (select locked.relation from locked) then pg_relation_size(counted.indexrelid) end as bytes
  from pg_catalog.pg_stat_user_indexes as counted
  join pg_catalog.pg_index as entry on entry.indexrelid = counted.indexrelid
  where ($1::text is null or counted.schemaname = $1::text::name) and counted.schemaname !~ '^pg_'
)
select json_build_object('schema', counted.schemaname, 'table', counted.relname, 'name', counted.indexrelname,
  'bytes', counted.bytes, 'scans', counted.idx_scan, 'definition', pg_get_indexdef(counted.indexrelid),
  'is_unique', counted.indisunique, 'is_valid', counted.indisvalid)
from measured as counted order by counted.bytes desc nulls first, counted.indexrelid limit $2::int4

-- name: sequences
-- Sequences, those nearest to their end first; $1 most rows.
select json_build_object('schema', counted.schemaname, 'name', counted.sequencename, 'type', counted.data_type::text,
  'last', counted.last_value, 'end', case when counted.increment_by > 0 then counted.max_value else counted.min_value end,
  'cycles', counted.cycle, 'used', used.share::float8)
from pg_catalog.pg_sequences as counted
cross join lateral (select case
  when counted.last_value is null then 0
  when counted.increment_by > 0 then (counted.last_value::numeric - counted.min_value) / nullif(counted.max_value::numeric - counted.min_value, 0)
  else (counted.max_value::numeric - counted.last_value) / nullif(counted.max_value::numeric - counted.min_value, 0) end as share) as used
order by used.share desc nulls last, counted.schemaname, counted.sequencename limit $1::int4

-- name: database
-- The database as a whole.
select json_build_object('bytes', pg_database_size(own.oid), 'wraparound_age', age(own.datfrozenxid),
  'wraparound_limit', 2147483647, 'cache_hit_rate', counted.blks_hit::float8 / nullif(counted.blks_hit + counted.blks_read, 0),
  'index_hit_rate', (select sum(blocks.idx_blks_hit)::float8 / nullif(sum(blocks.idx_blks_hit + blocks.idx_blks_read), 0)
    from pg_catalog.pg_statio_user_indexes as blocks),
  'commits', counted.xact_commit, 'rollbacks', counted.xact_rollback, 'deadlocks', counted.deadlocks,
  'temp_bytes', counted.temp_bytes, 'counted_since', counted.stats_reset, 'max_connections', current_setting('max_connections')::int4,
  'connections_in_use', (select count(*) from pg_catalog.pg_stat_activity as session where session.backend_type = 'client backend'),
  'connections', (select coalesce(json_agg(json_build_object('role', by_role.usename, 'state', by_role.state, 'count', by_role.count)
      order by by_role.count desc, by_role.usename, by_role.state), '[]')
    from (select session.usename, coalesce(session.state, 'background') as state, count(*) from pg_catalog.pg_stat_activity as session
      where session.datname = current_database() group by 1, 2) as by_role),
  'slots', (select coalesce(json_agg(json_build_object('name', slot.slot_name, 'plugin', slot.plugin, 'is_active', slot.active,
      'is_temporary', slot.temporary, 'kept_bytes', pg_wal_lsn_diff(
        case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, slot.restart_lsn)::int8,
      'wal_status', slot.wal_status) order by slot.slot_name), '[]')
    from pg_catalog.pg_replication_slots as slot))
from pg_catalog.pg_database as own
join pg_catalog.pg_stat_database as counted on counted.datid = own.oid
where own.datname = current_database()

-- name: server_version
select json_build_object('number', current_setting('server_version_num')::int4)

-- name: server_figures
-- Under the names of hosted projects; $1 the slot of row changes. Figures of all databases together, as there; the size is of this one.
select json_build_object(
  'pg_database_size_mb', pg_database_size(current_database()) / 1048576.0,
  'pg_status_in_recovery', pg_is_in_recovery()::int4,
  'pg_settings_default_transaction_read_only', (current_setting('default_transaction_read_only') = 'on')::int4,
  'pg_stat_database_num_backends', counted.backends, 'pg_stat_database_xact_commit_total', counted.commits,
  'pg_stat_database_xact_rollback_total', counted.rollbacks, 'pg_stat_database_deadlocks_total', counted.deadlocks,
  'pg_stat_database_conflicts_total', counted.conflicts, 'pg_stat_database_blks_hit_total', counted.hits, 'pg_stat_database_blks_read_total', counted.reads,
  'pg_stat_database_tup_returned_total', counted.returned, 'pg_stat_database_tup_fetched_total', counted.fetched,
  'pg_stat_database_tup_inserted_total', counted.inserted, 'pg_stat_database_tup_updated_total', counted.updated,
  'pg_stat_database_tup_deleted_total', counted.deleted, 'pg_stat_database_temp_files_total', counted.temp_files,
  'pg_stat_database_temp_bytes_total', counted.temp_bytes,
  'pg_stat_database_conflicts_confl_tablespace_total', cancelled.tablespace, 'pg_stat_database_conflicts_confl_lock_total', cancelled.lock,
  'pg_stat_database_conflicts_confl_snapshot_total', cancelled.snapshot, 'pg_stat_database_conflicts_confl_bufferpin_total', cancelled.bufferpin,
  'pg_stat_database_conflicts_confl_deadlock_total', cancelled.deadlock,
  'replication_realtime_slot_status', (select slot.active::int4 from pg_catalog.pg_replication_slots as slot where slot.slot_name = $1::text),
  'replication_realtime_lag_bytes', (select greatest(0, pg_wal_lsn_diff(
      case when pg_is_in_recovery() then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, slot.confirmed_flush_lsn))
    from pg_catalog.pg_replication_slots as slot where slot.slot_name = $1::text))
from (
  select sum(numbackends) as backends, sum(xact_commit) as commits, sum(xact_rollback) as rollbacks, sum(deadlocks) as deadlocks, sum(conflicts) as conflicts,
    sum(blks_hit) as hits, sum(blks_read) as reads, sum(tup_returned) as returned, sum(tup_fetched) as fetched, sum(tup_inserted) as inserted,
    sum(tup_updated) as updated, sum(tup_deleted) as deleted, sum(pg_stat_database.temp_files) as temp_files, sum(pg_stat_database.temp_bytes) as temp_bytes
  from pg_catalog.pg_stat_database
) as counted,
(
  select sum(confl_tablespace) as tablespace, sum(confl_lock) as lock, sum(confl_snapshot) as snapshot, sum(confl_bufferpin) as bufferpin,
    sum(confl_deadlock) as deadlock
  from pg_catalog.pg_stat_database_conflicts
) as cancelled

-- name: bgwriter_figures
-- Before Postgres 17.
select json_build_object(
  'pg_stat_bgwriter_checkpoints_timed_total', checkpoints_timed, 'pg_stat_bgwriter_checkpoints_req_total', checkpoints_req,
  'pg_stat_bgwriter_checkpoint_write_time_total', checkpoint_write_time, 'pg_stat_bgwriter_checkpoint_sync_time_total', checkpoint_sync_time,
  'pg_stat_bgwriter_buffers_checkpoint_total', buffers_checkpoint, 'pg_stat_bgwriter_buffers_clean_total', buffers_clean,
  'pg_stat_bgwriter_maxwritten_clean_total', maxwritten_clean, 'pg_stat_bgwriter_buffers_backend_total', buffers_backend,
  'pg_stat_bgwriter_buffers_backend_fsync_total', buffers_backend_fsync, 'pg_stat_bgwriter_buffers_alloc_total', buffers_alloc)
from pg_catalog.pg_stat_bgwriter

-- name: checkpointer_figures
-- The same since Postgres 17.
select json_build_object(
  'pg_stat_bgwriter_checkpoints_timed_total', checkpoints.num_timed, 'pg_stat_bgwriter_checkpoints_req_total', checkpoints.num_requested,
  'pg_stat_bgwriter_checkpoint_write_time_total', checkpoints.write_time, 'pg_stat_bgwriter_checkpoint_sync_time_total', checkpoints.sync_time,
  'pg_stat_bgwriter_buffers_checkpoint_total', checkpoints.buffers_written, 'pg_stat_bgwriter_buffers_clean_total', writer.buffers_clean,
  'pg_stat_bgwriter_maxwritten_clean_total', writer.maxwritten_clean, 'pg_stat_bgwriter_buffers_alloc_total', writer.buffers_alloc,
  'pg_stat_bgwriter_buffers_backend_total', backends.writes, 'pg_stat_bgwriter_buffers_backend_fsync_total', backends.fsyncs)
from pg_catalog.pg_stat_checkpointer as checkpoints, pg_catalog.pg_stat_bgwriter as writer,
(
  select coalesce(sum(io.writes), 0) as writes, coalesce(sum(io.fsyncs), 0) as fsyncs
  from pg_catalog.pg_stat_io as io where io.object = 'relation' and io.backend_type not in ('checkpointer', 'background writer')
) as backends

-- name: statement_figures
-- {function} is the quoted name of the function; false: without the texts of statements, which are in a file.
select json_build_object('pg_stat_statements_total_queries', coalesce(sum(counted.calls), 0),
  'pg_stat_statements_total_time_seconds', coalesce(sum(counted.total_exec_time), 0) / 1000,
  'supabase_usage_metrics_user_queries_total', coalesce(sum(counted.calls) filter
    (where pg_get_userbyid(counted.userid) in ('anon', 'authenticated', 'service_role', 'postgres')), 0))
from {function}(false) as counted
where counted.dbid = (select own.oid from pg_catalog.pg_database as own where own.datname = current_database())
