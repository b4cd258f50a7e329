-- What the catalog says about access (catalog.py). The search path is empty, except for `expressions`.

-- name: roles
-- Roles that requests may act as, with what makes their rights.
select pg_catalog.json_build_object('name', role.rolname, 'bypasses', role.rolbypassrls or role.rolsuper,
  'member_of', array(select held.rolname from pg_catalog.pg_roles as held
    where pg_catalog.pg_has_role(role.oid, held.oid, 'usage') order by held.rolname),
  'settings', coalesce(role.rolconfig::pg_catalog.text, ''))
from pg_catalog.pg_roles as role
where pg_catalog.pg_has_role('authenticator', role.oid, 'member') and role.rolname <> 'authenticator'
order by role.rolname limit 50

-- name: relations
-- Tables and views outside the system's schemas, with their rights for roles ($1, a JSON array of names).
select pg_catalog.json_build_object('oid', relation.oid::pg_catalog.int8, 'schema', schema.nspname, 'name', relation.relname,
  'kind', relation.relkind, 'owner', relation.relowner::pg_catalog.int8, 'file', relation.relfilenode::pg_catalog.int8,
  'is_enabled', relation.relrowsecurity, 'is_forced', relation.relforcerowsecurity,
  'is_invoker', coalesce(relation.reloptions && '{security_invoker=on,security_invoker=true,security_invoker=1,security_invoker=yes}', false),
  'definition', case when relation.relkind in ('v', 'm') then pg_catalog.pg_get_viewdef(relation.oid) else '' end,
  'touched', coalesce(pg_catalog.pg_stat_get_xact_tuples_inserted(relation.oid) + pg_catalog.pg_stat_get_xact_tuples_updated(relation.oid)
    + pg_catalog.pg_stat_get_xact_tuples_deleted(relation.oid), 0),
  'is_readable', pg_catalog.has_table_privilege(relation.oid, 'select'),
  'has_children', relation.relkind = 'p' or relation.relhassubclass,
  'columns', coalesce((select pg_catalog.json_agg(pg_catalog.json_build_object('name', attribute.attname,
      'type', pg_catalog.format_type(attribute.atttypid, null), 'is_required', attribute.attnotnull, 'is_domain', kind.typtype = 'd')
      order by attribute.attnum)
    from pg_catalog.pg_attribute as attribute join pg_catalog.pg_type as kind on kind.oid = attribute.atttypid
    where attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped), '[]'),
  'key', array(select attribute.attname from pg_catalog.pg_index as key
    join pg_catalog.pg_attribute as attribute on attribute.attrelid = relation.oid
      and attribute.attnum = any ((key.indkey::pg_catalog.int2[])[0:key.indnkeyatts - 1])
    where key.indrelid = relation.oid and key.indisprimary order by attribute.attnum),
  'rights', (select pg_catalog.json_object_agg(role.rolname, pg_catalog.json_build_object(
      'applies', relation.relrowsecurity and not (role.rolbypassrls or role.rolsuper)
        and (relation.relforcerowsecurity or not pg_catalog.pg_has_role(role.oid, relation.relowner, 'usage')),
      'select', usable.yes and pg_catalog.has_any_column_privilege(role.oid, relation.oid, 'select'),
      'insert', usable.yes and pg_catalog.has_any_column_privilege(role.oid, relation.oid, 'insert'),
      'update', usable.yes and pg_catalog.has_any_column_privilege(role.oid, relation.oid, 'update'),
      'delete', usable.yes and pg_catalog.has_table_privilege(role.oid, relation.oid, 'delete'),
      'columns', case when usable.yes then (select coalesce(pg_catalog.json_agg(attribute.attname || ' ' || privilege), '[]')
        from pg_catalog.pg_attribute as attribute cross join pg_catalog.unnest('{select,insert,update}'::pg_catalog.text[]) as privilege
        where attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped
          and pg_catalog.has_column_privilege(role.oid, relation.oid, attribute.attnum, privilege)) else '[]' end))
    from pg_catalog.pg_roles as role
    cross join lateral (select pg_catalog.has_schema_privilege(role.oid, schema.oid, 'usage') as yes) as usable
    where role.rolname = any (array(select pg_catalog.json_array_elements_text($1::pg_catalog.json)))))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as schema on schema.oid = relation.relnamespace
where relation.relkind in ('r', 'p', 'v', 'm', 'f') and relation.relpersistence <> 't'
  and schema.nspname <> 'information_schema' and pg_catalog.left(schema.nspname, 3) <> 'pg_'
order by schema.nspname, relation.relname

-- name: expressions
-- Policies of a schema's tables ($1), as they are written under the search path of requests; roles are those of $2 that a policy is for.
select pg_catalog.json_build_object('table', policy.polrelid::pg_catalog.int8, 'name', policy.polname,
  'command', case policy.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
  'is_permissive', policy.polpermissive,
  'roles', array(select role.rolname from pg_catalog.pg_roles as role
    where role.rolname = any (array(select pg_catalog.json_array_elements_text($2::pg_catalog.json)))
      and exists (select from pg_catalog.unnest(policy.polroles) as listed (number)
        where case when listed.number = 0 then true else pg_catalog.pg_has_role(role.oid, listed.number, 'usage') end)),
  'using', pg_catalog.pg_get_expr(policy.polqual, policy.polrelid), 'check', pg_catalog.pg_get_expr(policy.polwithcheck, policy.polrelid),
  'columns', array(select distinct attribute.attname from pg_catalog.pg_depend as used
    join pg_catalog.pg_attribute as attribute on attribute.attrelid = used.refobjid and attribute.attnum > 0 and not attribute.attisdropped
      and (used.refobjsubid = attribute.attnum or used.refobjsubid = 0 and used.deptype = 'n')
    where used.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and used.objid = policy.oid
      and used.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and used.refobjid = policy.polrelid),
  'relations', array(select distinct used.refobjid::pg_catalog.int8 from pg_catalog.pg_depend as used
    where used.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and used.objid = policy.oid
      and used.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and used.refobjid <> policy.polrelid),
  'functions', array(select distinct (schema.nspname || '.' || called.proname)::pg_catalog.text from pg_catalog.pg_depend as used
    join pg_catalog.pg_proc as called on called.oid = used.refobjid
    join pg_catalog.pg_namespace as schema on schema.oid = called.pronamespace
    where used.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and used.objid = policy.oid
      and used.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass),
  'schemas', array(select distinct named.nspname from pg_catalog.pg_depend as used
    left join pg_catalog.pg_proc as called on used.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass and called.oid = used.refobjid
    left join pg_catalog.pg_class as other on used.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and other.oid = used.refobjid
    left join pg_catalog.pg_type as kind on used.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass and kind.oid = used.refobjid
    join pg_catalog.pg_namespace as named on named.oid in (called.pronamespace, other.relnamespace, kind.typnamespace)
    where used.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and used.objid = policy.oid))
from pg_catalog.pg_policy as policy
join pg_catalog.pg_class as relation on relation.oid = policy.polrelid
join pg_catalog.pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = $1
order by policy.polrelid, policy.polname

-- name: functions
-- Functions outside the system's schemas and extensions, and the roles of $1 that may execute them.
select pg_catalog.json_build_object('schema', schema.nspname, 'name', called.proname,
  'arguments', pg_catalog.pg_get_function_identity_arguments(called.oid),
  'is_definer', called.prosecdef, 'owner', called.proowner::pg_catalog.int8, 'returns_set', called.proretset,
  'is_called', called.prorettype not in ('pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype),
  'is_plain', called.prokind = 'f' and called.proretset and called.pronargs = 0 and called.provolatile <> 'v',
  'definition', pg_catalog.md5(pg_catalog.concat_ws(' ', called.prosrc, pg_catalog.pg_get_function_sqlbody(called.oid),
    called.proconfig, called.provolatile, called.prorettype, called.prolang)),
  'roles', array(select role.rolname from pg_catalog.pg_roles as role
    where role.rolname = any (array(select pg_catalog.json_array_elements_text($1::pg_catalog.json)))
      and pg_catalog.has_schema_privilege(role.oid, schema.oid, 'usage') and pg_catalog.has_function_privilege(role.oid, called.oid, 'execute')))
from pg_catalog.pg_proc as called
join pg_catalog.pg_namespace as schema on schema.oid = called.pronamespace
where schema.nspname <> 'information_schema' and pg_catalog.left(schema.nspname, 3) <> 'pg_'
  and not exists (select from pg_catalog.pg_depend as part where part.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
    and part.objid = called.oid and part.deptype = 'e')
order by schema.nspname, called.proname

-- name: users
-- A sample of so many users ($1) in an order of its own, or those named ($2, a JSON array of ids, null for none), with the claims of their tokens.
select pg_catalog.json_build_object('id', users.id, 'claims', pg_catalog.json_strip_nulls(pg_catalog.json_build_object(
  'aud', coalesce(nullif(users.aud, ''), 'authenticated'), 'role', coalesce(nullif(users.role, ''), 'authenticated'),
  'sub', users.id, 'email', users.email, 'phone', users.phone,
  'app_metadata', coalesce(users.raw_app_meta_data, '{}'), 'user_metadata', coalesce(users.raw_user_meta_data, '{}'),
  'is_anonymous', users.is_anonymous, 'aal', 'aal1')))
from auth.users as users
where $2::pg_catalog.text is null or users.id::pg_catalog.text = any (array(select pg_catalog.json_array_elements_text($2::pg_catalog.json)))
order by pg_catalog.md5(users.id::pg_catalog.text) limit $1

-- name: user_count
-- How many users there are.
select pg_catalog.count(*) from auth.users
