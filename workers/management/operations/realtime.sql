-- What is replicated and who may see it, as a role that only reads (realtime.py).

-- name: tables
-- Tables with their publication, replica identity and policies. $1 schema, $2 the last name of the page before, $3 rows.
select pg_catalog.json_build_object(
  'schema', n.nspname, 'name', c.relname,
  'is_published', p.prrelid is not null or pub.puballtables
    or exists (select from pg_catalog.pg_publication_namespace as s where s.pnpubid = pub.oid and s.pnnspid = n.oid),
  'is_published_alone', p.prrelid is not null,
  'columns', (
    select pg_catalog.json_agg(a.attname order by a.attnum)
    from pg_catalog.pg_attribute as a where a.attrelid = c.oid and a.attnum = any (p.prattrs::int2[])),
  'filter', pg_catalog.pg_get_expr(p.prqual, c.oid),
  'replica_identity', c.relreplident, 'has_key', exists (
    select from pg_catalog.pg_index as i where i.indrelid = c.oid and i.indisprimary),
  'has_row_security', c.relrowsecurity,
  'select_policies', (
    select pg_catalog.count(*) from pg_catalog.pg_policy as policy
    where policy.polrelid = c.oid and policy.polcmd in ('r', '*')),
  'readable_by', coalesce((
    select pg_catalog.json_agg(role.rolname order by role.rolname) from pg_catalog.pg_roles as role
    where role.rolname in ('anon', 'authenticated')
      and pg_catalog.has_schema_privilege(role.oid, n.oid, 'USAGE')
      and pg_catalog.has_any_column_privilege(role.oid, c.oid, 'SELECT')), '[]'))
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
left join pg_catalog.pg_publication as pub on pub.pubname = 'supabase_realtime'
left join pg_catalog.pg_publication_rel as p on p.prrelid = c.oid and p.prpubid = pub.oid
where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
  and c.relname::text collate "C" > $2
order by c.relname::text collate "C"
limit $3::bigint

-- name: table
-- The same of one table. $1 schema, $2 name.
select pg_catalog.json_build_object(
  'schema', n.nspname, 'name', c.relname,
  'is_published', p.prrelid is not null or pub.puballtables
    or exists (select from pg_catalog.pg_publication_namespace as s where s.pnpubid = pub.oid and s.pnnspid = n.oid),
  'is_published_alone', p.prrelid is not null,
  'columns', (
    select pg_catalog.json_agg(a.attname order by a.attnum)
    from pg_catalog.pg_attribute as a where a.attrelid = c.oid and a.attnum = any (p.prattrs::int2[])),
  'filter', pg_catalog.pg_get_expr(p.prqual, c.oid),
  'replica_identity', c.relreplident, 'has_key', exists (
    select from pg_catalog.pg_index as i where i.indrelid = c.oid and i.indisprimary),
  'has_row_security', c.relrowsecurity,
  'select_policies', (
    select pg_catalog.count(*) from pg_catalog.pg_policy as policy
    where policy.polrelid = c.oid and policy.polcmd in ('r', '*')),
  'readable_by', coalesce((
    select pg_catalog.json_agg(role.rolname order by role.rolname) from pg_catalog.pg_roles as role
    where role.rolname in ('anon', 'authenticated')
      and pg_catalog.has_schema_privilege(role.oid, n.oid, 'USAGE')
      and pg_catalog.has_any_column_privilege(role.oid, c.oid, 'SELECT')), '[]'))
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
left join pg_catalog.pg_publication as pub on pub.pubname = 'supabase_realtime'
left join pg_catalog.pg_publication_rel as p on p.prrelid = c.oid and p.prpubid = pub.oid
where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence = 'p'
  and c.relname = $2

-- name: publication
select pg_catalog.json_build_object(
  'name', pubname, 'all_tables', puballtables, 'insert', pubinsert, 'update', pubupdate, 'delete', pubdelete,
  'tables', (select pg_catalog.count(*) from pg_catalog.pg_publication_tables as t where t.pubname = pub.pubname))
from pg_catalog.pg_publication as pub where pubname = 'supabase_realtime'

-- name: slot
-- $1 the slot's name.
select pg_catalog.json_build_object(
  'name', slot_name, 'is_active', active, 'wal_status', wal_status, 'confirmed_lsn', confirmed_flush_lsn::text,
  'current_lsn', pg_catalog.pg_current_wal_lsn()::text,
  'lag_bytes', greatest((pg_catalog.pg_current_wal_lsn() - confirmed_flush_lsn)::bigint, 0),
  'held_bytes', greatest((pg_catalog.pg_current_wal_lsn() - restart_lsn)::bigint, 0),
  'limit_bytes', (
    select nullif(setting::bigint, -1) * 1024 * 1024 from pg_catalog.pg_settings where name = 'max_slot_wal_keep_size'))
from pg_catalog.pg_replication_slots where slot_name = $1

-- name: broadcast
-- As the service role. $1 payload, $2 event, $3 topic, $4 private.
insert into realtime.messages (payload, event, topic, private, extension)
values ($1::jsonb, $2, $3, $4::boolean, 'broadcast')
returning pg_catalog.json_build_object('id', id)
