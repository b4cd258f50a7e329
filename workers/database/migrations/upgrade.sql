-- Statements of upgrade.py, run before and after a rehearsal.

-- name: limit_lock_waits
-- Requests of a running platform do not queue behind a waiting rehearsal for longer than this.
set local lock_timeout = '4s'

-- name: objects
-- All named objects of all schemas (platform and project) with a text or hash of their definition.
select 'schema' as kind, n.nspname::text as name, '' as content
from pg_catalog.pg_namespace n where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
union all
select case c.relkind when 'v' then 'view' when 'S' then 'sequence' when 'i' then 'index' when 'I' then 'index' else 'table' end,
  pg_catalog.format('%s.%s', n.nspname, c.relname),
  case when c.relkind = 'v' then pg_catalog.md5(pg_catalog.pg_get_viewdef(c.oid)) else c.relrowsecurity::text end || coalesce(c.relacl::text, '')
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'S', 'i', 'I', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
union all
select 'column', pg_catalog.format('%s.%s.%s', n.nspname, c.relname, a.attname),
  pg_catalog.format('%s %s', pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull)
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
union all
select 'function', pg_catalog.format('%s.%s(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)),
  pg_catalog.md5(pg_catalog.concat(p.prosrc, p.prosqlbody::text, p.prosecdef, p.proconfig::text, p.proacl::text))
from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
union all
select 'policy', pg_catalog.format('%s on %s', o.polname, o.polrelid::regclass),
  pg_catalog.concat(o.polcmd, o.polroles::text, pg_catalog.pg_get_expr(o.polqual, o.polrelid), pg_catalog.pg_get_expr(o.polwithcheck, o.polrelid))
from pg_catalog.pg_policy o
union all
select 'trigger', pg_catalog.format('%s on %s', t.tgname, t.tgrelid::regclass), pg_catalog.pg_get_triggerdef(t.oid)
from pg_catalog.pg_trigger t where not t.tgisinternal
union all
select 'role', r.rolname::text, pg_catalog.concat(r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolbypassrls)
from pg_catalog.pg_roles r where r.rolname !~ '^pg_'
