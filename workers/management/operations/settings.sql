-- The settings that are stored in the database; statements of the login headwater_management.

-- name: lock
-- The version of the row, locked until the change is committed.
select stored.version::text from headwater.stored_settings as stored for update

-- name: store
-- Store a text ($2) as version $1 over version $3; no row: another administrator stored one meanwhile.
insert into headwater.stored_settings as stored (version, sealed) values ($1::bigint, $2)
on conflict (only_row) do update set version = excluded.version, sealed = excluded.sealed
where stored.version = $3::bigint
returning stored.version::text

-- name: notify
-- Every worker reads its settings again when this transaction is committed.
select pg_catalog.pg_notify('pgrst', 'reload config')

-- name: history
-- Changes of settings, the newest first, before a row ($1), of one setting ($2), at most $3.
select pg_catalog.json_build_object('id', id, 'at', at, 'actor', actor, 'operation', operation,
  'before', coalesce(before, '{}'), 'after', coalesce(after, '{}'))
from headwater.administrator_audit
where operation in ('settings.change', 'settings.reset', 'settings.adopt', 'settings.discard', 'project.change_settings') and outcome = 'done'
  and ($1::bigint is null or id < $1::bigint)
  and ($2::text is null or before ? $2::text or after ? $2::text)
order by id desc limit $3::integer
