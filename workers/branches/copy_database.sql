-- Statements of copy_database.py, for a superuser session. All names are qualified.

-- name: tablespaces
-- Names of tablespaces beside those of every server; null without any.
select pg_catalog.string_agg(spcname, ', ' order by spcname)
from pg_catalog.pg_tablespace where spcname not in ('pg_default', 'pg_global')

-- name: keep_log
-- A physical slot that keeps the log from the last checkpoint on, and ends with this session.
select lsn::pg_catalog.text from pg_catalog.pg_create_physical_replication_slot($1, true, true)

-- name: begin
select pg_catalog.pg_backup_start($1, true)::pg_catalog.text

-- name: end
-- The label, and the last segment of the log that the copy needs: that of the byte before the end.
select lsn::pg_catalog.text as lsn, labelfile as label,
  pg_catalog.pg_walfile_name(lsn operator(pg_catalog.-) 1::pg_catalog.numeric) as segment
from pg_catalog.pg_backup_stop(false)
