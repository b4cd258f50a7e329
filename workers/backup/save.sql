-- What a backup asks of the database (save.py), in one transaction that stays open until the last blob is copied.

-- name: hold_sweep
-- Nobody deletes bytes of objects meanwhile (workers/storage/sweep.sql). Waits for a sweep that is under way.
select pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('headwater backup', 0))

-- name: snapshot
select pg_catalog.pg_export_snapshot()

-- name: versions
-- Every version that a row names, with its bucket.
select bucket_id, version::text from storage.objects where version is not null

-- name: migrations
select series, max(version) as version from headwater.migrations group by series

-- name: server
select pg_catalog.current_setting('server_version_num')::int

-- name: owner
select pg_catalog.pg_get_userbyid(datdba)::text from pg_catalog.pg_database where datname = pg_catalog.current_database()

-- name: settings
-- Settings that belong to this database.
select coalesce(r.rolname::text, '') as role, split_part(one, '=', 1) as name,
  substr(one, strpos(one, '=') + 1) as value
from pg_catalog.pg_db_role_setting s
join pg_catalog.pg_database d on d.oid = s.setdatabase and d.datname = pg_catalog.current_database()
left join pg_catalog.pg_roles r on r.oid = s.setrole,
unnest(s.setconfig) as one

-- name: rights
-- Rights on the database itself.
select coalesce(r.rolname::text, '') as role, a.privilege_type as privilege, a.is_grantable as may_grant
from pg_catalog.pg_database d, pg_catalog.aclexplode(d.datacl) a
left join pg_catalog.pg_roles r on r.oid = a.grantee
where d.datname = pg_catalog.current_database()

-- name: is_empty
-- Whether a platform has nothing of its own yet.
select not exists (select from auth.users) and not exists (select from storage.objects)
  and not exists (
    select from pg_catalog.pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not exists (select from pg_catalog.pg_depend d where d.objid = c.oid and d.deptype = 'e')
  )

-- name: remember
-- Sets a value that `alter ... set ... from current` then takes: lists keep their form.
select pg_catalog.set_config($1, $2, false)

-- name: extensions
-- The extensions that this server could make.
select name::text from pg_catalog.pg_available_extensions
