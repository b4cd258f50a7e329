-- Statements of prepare_copy.py, for a superuser session. All names are qualified. Tables on which a tenant can make triggers are
-- emptied in sessions of their owners.

-- name: drop_subscriptions
-- Statements that drop the subscriptions of this database without reaching the servers that they read: their slots are the parent's.
select pg_catalog.unnest(array[
  pg_catalog.format('alter subscription %I disable', subname),
  pg_catalog.format('alter subscription %I set (slot_name = none)', subname),
  pg_catalog.format('drop subscription %I', subname)]) as statement
from pg_catalog.pg_subscription
where subdbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())

-- name: empty_own_tables
-- A statement that empties the platform's tables of administrators, their agents, answers, runs, webhooks, drains and streams: the parent's keys seal or bind their rows,
-- its receivers are not the branch's, and what its jobs have begun they finish themselves.
select pg_catalog.format('truncate %s', pg_catalog.string_agg(pg_catalog.format('%I.%I', nspname, relname), ', ' order by nspname, relname))
from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
where relkind = 'r' and (nspname = 'headwater_jobs' and relname in ('runs', 'steps', 'events') or nspname = 'headwater'
  and (pg_catalog.starts_with(relname::pg_catalog.text, 'administrator')
    or relname in ('idempotent_answers', 'last_runs', 'requested_runs', 'streams_of_changes', 'http_queue', 'http_answers',
      'webhooks', 'webhook_deliveries', 'webhook_place', 'log_drains', 'stream_tables')))

-- name: has_history
-- Whether the database is of a version that keeps history.
select pg_catalog.to_regprocedure('headwater.history_empty()') is not null

-- name: empty_history
-- Versions of rows are the parent's past.
select headwater.history_empty()

-- name: stored_settings
select version, sealed from headwater.stored_settings

-- name: has_stored_settings
select pg_catalog.to_regclass('headwater.stored_settings') is not null

-- name: store_settings
update headwater.stored_settings set sealed = $1

-- name: delete_stored_settings
delete from headwater.stored_settings

-- name: set_password
-- A statement that sets the password of the login of this session to a verifier.
select pg_catalog.format('alter role %I password %L', current_user, $1::pg_catalog.text)

-- name: existing
-- Those of the tables that this database has.
select name from pg_catalog.unnest($1::pg_catalog.text[]) as name where pg_catalog.to_regclass(name) is not null

-- name: foreign_servers
select pg_catalog.string_agg(srvname, ', ' order by srvname) from pg_catalog.pg_foreign_server

-- name: own_parameters
-- Names of the parameters that a project stored for its database or its roles; a project may keep keys in them.
select pg_catalog.string_agg(distinct pg_catalog.split_part(entry, '=', 1), ', ')
from pg_catalog.pg_db_role_setting cross join pg_catalog.unnest(setconfig) as entry
where pg_catalog.starts_with(entry, 'app.')
  and pg_catalog.split_part(entry, '=', 1) not in ('app.settings.jwt_secret', 'app.settings.jwt_exp')

-- name: mask_column
-- A column and its table, by names.
select
  c.relkind::text as kind, r.rolname::text as owner, r.rolsuper as is_superusers, a.attnotnull as is_required, a.attgenerated <> '' as is_generated,
  t.typcategory::text as category, t.typname::text as type_name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
join pg_catalog.pg_roles as r on r.oid = c.relowner
join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_catalog.pg_type as t on t.oid = a.atttypid
where n.nspname = $1 and c.relname = $2 and a.attname = $3

-- name: account_tables
-- Tables of auth that exist, of these names or beginnings of names.
select pg_catalog.format('auth.%I', c.relname) as name
from pg_catalog.pg_class as c
where c.relnamespace = 'auth'::pg_catalog.regnamespace and c.relkind = 'r'
  and (c.relname = any ($1::text[]) or exists (
    select from pg_catalog.unnest($2::text[]) as b (beginning) where pg_catalog.starts_with(c.relname::text, b.beginning)))
