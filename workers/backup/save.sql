-- Statements of backup and restore. Those of a backup (save.py) run in one transaction that stays open until the last blob is copied.

-- name: hold_sweep
-- Keeps the sweep from deleting bytes of objects meanwhile (workers/storage/sweep.sql). Waits for a running sweep.
select pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended('headwater backup', 0))

-- name: snapshot
select pg_catalog.pg_export_snapshot()

-- name: versions
-- Every version that a row names, with its bucket: read as role postgres, because even reading a project's table may run its code
-- (the planner evaluates what index expressions make of constants).
select bucket_id, version::pg_catalog.text as version from storage.objects where version is not null

-- name: contents
-- What the saved database has, as role postgres.
select pg_catalog.pg_database_size(pg_catalog.current_database()) as bytes,
  (select pg_catalog.count(*) from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid operator(pg_catalog.=) c.relnamespace and n.nspname operator(pg_catalog.=) 'public'
    where c.relkind in ('r', 'p')) as tables,
  (select pg_catalog.count(*) from auth.users) as users

-- name: migrations
select series, pg_catalog.max(version) as version from headwater.migrations group by series

-- name: server
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4

-- name: owner
select pg_catalog.pg_get_userbyid(datdba)::pg_catalog.text from pg_catalog.pg_database
where datname operator(pg_catalog.=) pg_catalog.current_database()

-- name: settings
-- Settings that belong to this database; those of one role too. A dump never contains the signing secret.
select coalesce(r.rolname::pg_catalog.text, '') as role, pg_catalog.split_part(entry, '=', 1) as name,
  pg_catalog.substr(entry, pg_catalog.strpos(entry, '=') operator(pg_catalog.+) 1) as value
from pg_catalog.pg_db_role_setting as s
join pg_catalog.pg_database as d on d.oid operator(pg_catalog.=) s.setdatabase
  and d.datname operator(pg_catalog.=) pg_catalog.current_database()
left join pg_catalog.pg_roles as r on r.oid operator(pg_catalog.=) s.setrole,
pg_catalog.unnest(s.setconfig) as entry
where not pg_catalog.starts_with(entry, 'app.settings.jwt_secret=')

-- name: role_settings
-- Settings of the project's own roles in all databases. $1: the platform's roles, $2: how the names of its logins begin.
select r.rolname::pg_catalog.text as role, pg_catalog.split_part(entry, '=', 1) as name,
  pg_catalog.substr(entry, pg_catalog.strpos(entry, '=') operator(pg_catalog.+) 1) as value
from pg_catalog.pg_db_role_setting as s
join pg_catalog.pg_roles as r on r.oid operator(pg_catalog.=) s.setrole,
pg_catalog.unnest(s.setconfig) as entry
where s.setdatabase operator(pg_catalog.=) 0
  and r.rolname operator(pg_catalog.<>) all ($1::pg_catalog.text[]) and r.rolname !~ '^pg_'
  and not exists (select from pg_catalog.unnest($2::pg_catalog.text[]) as own where pg_catalog.starts_with(r.rolname, own))

-- name: roles
-- The project's own roles as statements that role postgres may run: no superusers, no passwords. Names and texts are quoted by
-- the server, so that nothing in them becomes a statement. $1 and $2 as above.
with own as (
  select r.* from pg_catalog.pg_roles as r
  where not r.rolsuper
    and r.rolname operator(pg_catalog.<>) all ($1::pg_catalog.text[]) and r.rolname !~ '^pg_'
    and not exists (select from pg_catalog.unnest($2::pg_catalog.text[]) as login where pg_catalog.starts_with(r.rolname, login))
)
select statement from (
  select 1 as step, r.rolname, pg_catalog.format(
    'create role %I with %s %s %s %s %s %s connection limit %s%s', r.rolname,
    case when r.rolinherit then 'inherit' else 'noinherit' end,
    case when r.rolcreaterole then 'createrole' else 'nocreaterole' end,
    case when r.rolcreatedb then 'createdb' else 'nocreatedb' end,
    case when r.rolcanlogin then 'login' else 'nologin' end,
    case when r.rolreplication then 'replication' else 'noreplication' end,
    case when r.rolbypassrls then 'bypassrls' else 'nobypassrls' end,
    r.rolconnlimit,
    case when r.rolvaliduntil is not null then pg_catalog.format(' valid until %L', r.rolvaliduntil) end) as statement
  from own as r
  union all
  select 2, r.rolname, pg_catalog.format('comment on role %I is %L', r.rolname, d.description)
  from own as r join pg_catalog.pg_shdescription as d on d.objoid operator(pg_catalog.=) r.oid
    and d.classoid operator(pg_catalog.=) 'pg_catalog.pg_authid'::pg_catalog.regclass
  union all
  select distinct 3, granted.rolname, pg_catalog.format(
    'grant %I to %I%s', granted.rolname, member.rolname, case when m.admin_option then ' with admin option' end)
  from pg_catalog.pg_auth_members as m
  join pg_catalog.pg_roles as granted on granted.oid operator(pg_catalog.=) m.roleid
  join pg_catalog.pg_roles as member on member.oid operator(pg_catalog.=) m.member
  join pg_catalog.pg_roles as grantor on grantor.oid operator(pg_catalog.=) m.grantor
  where not granted.rolsuper and not member.rolsuper
    and (member.rolname operator(pg_catalog.<>) 'postgres' or not grantor.rolsuper)  -- the server gives these back by itself
    and (granted.oid in (select oid from own) or member.oid in (select oid from own))
    and not exists (select from pg_catalog.unnest($2::pg_catalog.text[]) as login where pg_catalog.starts_with(member.rolname, login))
) as told
order by step, rolname, statement

-- name: rights
-- Rights on the database itself.
select coalesce(r.rolname::pg_catalog.text, '') as role, a.privilege_type as privilege, a.is_grantable as may_grant
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(d.datacl) as a
left join pg_catalog.pg_roles as r on r.oid operator(pg_catalog.=) a.grantee
where d.datname operator(pg_catalog.=) pg_catalog.current_database()

-- name: is_empty
-- Whether a platform has nothing of its own yet: asked as role postgres, as above.
select not exists (select from auth.users) and not exists (select from storage.objects)
  and not exists (
    select from pg_catalog.pg_class c
    where c.relnamespace operator(pg_catalog.=) 'public'::pg_catalog.regnamespace and c.relkind in ('r', 'p')
      and not exists (select from pg_catalog.pg_depend d where d.objid operator(pg_catalog.=) c.oid and d.deptype operator(pg_catalog.=) 'e')
  )

-- name: remember
-- Sets a value that `alter ... set ... from current` then takes: lists keep their form.
select pg_catalog.set_config($1, $2, false)

-- name: extensions
-- The extensions that this server could make.
select name::pg_catalog.text from pg_catalog.pg_available_extensions

-- name: is_superuser
select coalesce((select rolsuper from pg_catalog.pg_roles where rolname operator(pg_catalog.=) $1), true)

-- name: may_become
-- Whether role postgres may give things to a role, as an owner of what the backup has does.
select r.rolname::pg_catalog.text as name, pg_catalog.pg_has_role('postgres', r.oid, 'member') as is_member
from pg_catalog.pg_roles as r
where r.rolname operator(pg_catalog.=) any ($1::pg_catalog.text[]) and not r.rolsuper

-- name: has_jobs
-- Whether both tables of jobs are those of extension pg_cron, as a superuser made them.
select pg_catalog.count(*) operator(pg_catalog.=) 2
from pg_catalog.pg_class as c
join pg_catalog.pg_roles as r on r.oid operator(pg_catalog.=) c.relowner and r.rolsuper
join pg_catalog.pg_depend as d on d.objid operator(pg_catalog.=) c.oid and d.deptype operator(pg_catalog.=) 'e'
  and d.classid operator(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
  and d.refclassid operator(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
join pg_catalog.pg_extension as e on e.oid operator(pg_catalog.=) d.refobjid and e.extname operator(pg_catalog.=) 'pg_cron'
where c.oid in (pg_catalog.to_regclass('cron.job'), pg_catalog.to_regclass('cron.job_run_details'))

-- name: take_jobs
-- Jobs of role postgres and of roles that it may become; a job of another would run with rights that a backup must not give.
insert into cron.job (jobid, schedule, command, nodename, nodeport, database, username, active, jobname)
select jobid, schedule, command, nodename, nodeport, database, username, active, jobname
from pg_temp.headwater_jobs as job
where exists (
  select from pg_catalog.pg_roles as r
  where r.rolname operator(pg_catalog.=) job.username and not r.rolsuper
    and pg_catalog.pg_has_role('postgres', r.oid, 'member'))

-- name: take_runs
insert into cron.job_run_details (
  jobid, runid, job_pid, database, username, command, status, return_message, start_time, end_time)
select jobid, runid, job_pid, database, username, command, status, return_message, start_time, end_time
from pg_temp.headwater_runs

-- name: event_functions
-- The project's functions of event triggers, by the names that the platform's copies of them have.
select 'event_' || pg_catalog.md5(pg_catalog.format('%I.%I', n.nspname, p.proname)) as copy, p.oid
from pg_catalog.pg_proc as p join pg_catalog.pg_namespace as n on n.oid operator(pg_catalog.=) p.pronamespace
where p.prorettype operator(pg_catalog.=) 'pg_catalog.event_trigger'::pg_catalog.regtype
  and n.nspname operator(pg_catalog.<>) 'headwater'

-- name: triggers
-- The triggers of tables, as statements that switch them off and back: rows of a backup are those that they made already.
-- $1: schemas, $2: names.
select
  pg_catalog.format('alter table %I.%I disable trigger %I', n.nspname, c.relname, g.tgname) as off,
  pg_catalog.format(
    'alter table %I.%I enable%s trigger %I', n.nspname, c.relname,
    case g.tgenabled when 'A' then ' always' when 'R' then ' replica' else '' end, g.tgname) as back
from pg_catalog.pg_trigger as g
join pg_catalog.pg_class as c on c.oid operator(pg_catalog.=) g.tgrelid
join pg_catalog.pg_namespace as n on n.oid operator(pg_catalog.=) c.relnamespace
join rows from (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) as named (schema, name)
  on named.schema operator(pg_catalog.=) n.nspname and named.name operator(pg_catalog.=) c.relname
where not g.tgisinternal and g.tgenabled <> 'D' and g.tgparentid operator(pg_catalog.=) 0
