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

-- name: forget_statistics
-- Forget what the planner knows of the values of tables, for ANALYZE leaves it where a table has no rows: of those named by $1 and of all that role $2 owns,
-- of what inherits from them, whatever they inherit from, and their indexes; and of materialized views.
with recursive below as (
  select c.oid from pg_catalog.pg_class as c
  where c.oid = any ($1::pg_catalog.text[]::pg_catalog.regclass[]) or c.relowner = (select oid from pg_catalog.pg_roles where rolname = $2) or c.relkind = 'm'
  union
  select i.inhrelid from pg_catalog.pg_inherits as i join below on below.oid = i.inhparent
), above as (
  select oid from below
  union
  select i.inhparent from pg_catalog.pg_inherits as i join above on above.oid = i.inhrelid
), several as (
  delete from pg_catalog.pg_statistic_ext_data as d using pg_catalog.pg_statistic_ext as e
  where d.stxoid = e.oid and e.stxrelid in (select oid from above)
)
delete from pg_catalog.pg_statistic
where starelid in (select oid from above union select x.indexrelid from pg_catalog.pg_index as x join above on above.oid = x.indrelid)

-- name: materialized_views
-- Materialized views that have rows, those that others read first, with their owners. None of a superuser: whoever refreshes runs its functions.
with recursive reads as (
  select distinct r.ev_class as reader, d.refobjid as oid
  from pg_catalog.pg_rewrite as r
  join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = r.oid
    and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid <> r.ev_class
), reached as (
  select reader, oid from reads
  union
  select reached.reader, reads.oid from reached join reads on reads.reader = reached.oid
)
select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, o.rolname::text as owner
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
join pg_catalog.pg_roles as o on o.oid = c.relowner
where c.relkind = 'm' and c.relispopulated and not o.rolsuper
order by (select pg_catalog.count(*) from reached join pg_catalog.pg_class as m on m.oid = reached.oid and m.relkind = 'm' where reached.reader = c.oid), 1
