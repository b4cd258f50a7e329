-- What the catalog says about the rights of a role on a table. The search path is empty, except for `expressions`.

-- name: user
-- The claims of a user's access token ($1: the user's id), as far as the row of the user has them.
select json_build_object('claims', json_strip_nulls(json_build_object(
  'aud', coalesce(nullif(users.aud, ''), 'authenticated'), 'role', coalesce(nullif(users.role, ''), 'authenticated'),
  'sub', users.id, 'email', users.email, 'phone', users.phone,
  'app_metadata', coalesce(users.raw_app_meta_data, '{}'), 'user_metadata', coalesce(users.raw_user_meta_data, '{}'),
  'is_anonymous', users.is_anonymous, 'aal', 'aal1')))
from auth.users as users where users.id = $1::uuid

-- name: role
-- A role ($1): what it is, and whether requests may act as it.
select json_build_object('name', role.rolname,
  'bypasses', role.rolbypassrls or role.rolsuper,
  'is_reachable', pg_has_role('authenticator', role.oid, 'member'),
  'settings', coalesce((select json_object_agg(split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1))
    from (select unnest(stored.setconfig) as entry from pg_db_role_setting as stored
      where stored.setrole = role.oid
        and stored.setdatabase in (0, (select oid from pg_database where datname = current_database()))
      order by stored.setdatabase) as entries
    join pg_settings as known on lower(known.name) = lower(split_part(entry, '=', 1))
    where known.context = 'user'), '{}'))
from pg_roles as role where role.rolname = $1::text

-- name: table
-- A relation ($1 schema, $2 name) and the rights of a role ($3) on it.
select json_build_object(
  'kind', case relation.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' else 'foreign table' end,
  'owner', owner.rolname,
  'may_use_schema', has_schema_privilege(role.oid, schema.oid, 'usage'),
  'is_enabled', relation.relrowsecurity, 'is_forced', relation.relforcerowsecurity,
  'is_owner', pg_has_role(role.oid, relation.relowner, 'usage'),
  'bypasses', role.rolbypassrls or role.rolsuper,
  'privileges', json_build_object(
    'select', has_table_privilege(role.oid, relation.oid, 'select'),
    'insert', has_table_privilege(role.oid, relation.oid, 'insert'),
    'update', has_table_privilege(role.oid, relation.oid, 'update'),
    'delete', has_table_privilege(role.oid, relation.oid, 'delete')),
  'columns', coalesce((select json_agg(json_build_object(
      'name', attribute.attname, 'type', format_type(attribute.atttypid, attribute.atttypmod),
      'may_select', has_column_privilege(role.oid, relation.oid, attribute.attnum, 'select'),
      'may_insert', has_column_privilege(role.oid, relation.oid, attribute.attnum, 'insert'),
      'may_update', has_column_privilege(role.oid, relation.oid, attribute.attnum, 'update'),
      'is_generated', attribute.attgenerated <> '', 'is_identity', attribute.attidentity <> '',
      'is_key', attribute.attnum = any ((key.indkey::int2[])[0:key.indnkeyatts - 1])) order by attribute.attnum)
    from pg_attribute as attribute
    where attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped), '[]'),
  'triggers', array(select trigger.tgname from pg_trigger as trigger
    where trigger.tgrelid = relation.oid and not trigger.tgisinternal and trigger.tgenabled in ('O', 'A')
      and trigger.tgtype & 3 = 3 order by trigger.tgname),
  'is_invoker', coalesce(relation.reloptions && '{security_invoker=on,security_invoker=true,security_invoker=1,security_invoker=yes}', false),
  'below', coalesce((select json_agg(json_build_object('schema', below_schema.nspname, 'table', below.relname) order by 1)
    from (select distinct dependency.refobjid as oid from pg_rewrite as rule
      join pg_depend as dependency on dependency.classid = 'pg_rewrite'::regclass and dependency.objid = rule.oid
        and dependency.refclassid = 'pg_class'::regclass and dependency.refobjid <> rule.ev_class
      where rule.ev_class = relation.oid and relation.relkind in ('v', 'm')) as used
    join pg_class as below on below.oid = used.oid and below.relkind in ('r', 'p', 'v', 'm', 'f')
    join pg_namespace as below_schema on below_schema.oid = below.relnamespace), '[]'))
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_roles as owner on owner.oid = relation.relowner
join pg_roles as role on role.rolname = $3::text
left join pg_index as key on key.indrelid = relation.oid and key.indisprimary
where schema.nspname = $1::text and relation.relname = $2::text and relation.relkind in ('r', 'p', 'v', 'm', 'f')

-- name: expressions
-- Policies of a table ($1 schema, $2 name) for a role ($3), with their expressions as they are written under the caller's search path,
-- and the defaults of its columns. So an expression that is parsed again under that path means the same.
select pg_catalog.json_build_object(
  'policies', coalesce((select pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', policy.polname,
      'command', case policy.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
      'is_permissive', policy.polpermissive,
      'roles', array(select case listed.number when 0 then 'public' else pg_catalog.pg_get_userbyid(listed.number)::pg_catalog.text end
        from pg_catalog.unnest(policy.polroles) as listed (number)),
      'is_for_role', exists (select from pg_catalog.unnest(policy.polroles) as listed (number)
        where case when listed.number operator(pg_catalog.=) 0::pg_catalog.oid then true
          else pg_catalog.pg_has_role(role.oid, listed.number, 'usage') end),
      'using', pg_catalog.pg_get_expr(policy.polqual, policy.polrelid),
      'check', pg_catalog.pg_get_expr(policy.polwithcheck, policy.polrelid))
      order by policy.polname using operator(pg_catalog.<))
    from pg_catalog.pg_policy as policy where policy.polrelid operator(pg_catalog.=) relation.oid), '[]'),
  'defaults', coalesce((select pg_catalog.json_object_agg(attribute.attname, pg_catalog.pg_get_expr(stored.adbin, stored.adrelid))
    from pg_catalog.pg_attrdef as stored
    join pg_catalog.pg_attribute as attribute on attribute.attrelid operator(pg_catalog.=) stored.adrelid
      and attribute.attnum operator(pg_catalog.=) stored.adnum
    where stored.adrelid operator(pg_catalog.=) relation.oid), '{}'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as schema on schema.oid operator(pg_catalog.=) relation.relnamespace
join pg_catalog.pg_roles as role on role.rolname operator(pg_catalog.=) $3::pg_catalog.text::pg_catalog.name
where schema.nspname operator(pg_catalog.=) $1::pg_catalog.text::pg_catalog.name
  and relation.relname operator(pg_catalog.=) $2::pg_catalog.text::pg_catalog.name

-- name: matrix
-- The rights of roles ($2, a JSON array) on the tables of schemas ($1, a JSON array): a row for each pair.
select json_build_object('schema', schema.nspname, 'table', relation.relname, 'role', role.rolname,
  'may_use_schema', has_schema_privilege(role.oid, schema.oid, 'usage'),
  'is_enabled', relation.relrowsecurity, 'is_forced', relation.relforcerowsecurity,
  'is_owner', pg_has_role(role.oid, relation.relowner, 'usage'),
  'bypasses', role.rolbypassrls or role.rolsuper,
  'privileges', json_build_object(
    'select', has_any_column_privilege(role.oid, relation.oid, 'select'),
    'insert', has_any_column_privilege(role.oid, relation.oid, 'insert'),
    'update', has_any_column_privilege(role.oid, relation.oid, 'update'),
    'delete', has_table_privilege(role.oid, relation.oid, 'delete')),
  'policies', coalesce((select json_agg(json_build_object('name', policy.polname,
      'command', case policy.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
      'is_permissive', policy.polpermissive, 'has_using', policy.polqual is not null, 'has_check', policy.polwithcheck is not null)
      order by policy.polname)
    from pg_policy as policy
    where policy.polrelid = relation.oid and exists (select from unnest(policy.polroles) as listed (number)
      where case when listed.number = 0 then true else pg_has_role(role.oid, listed.number, 'usage') end)), '[]'))
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_roles as role on role.rolname = any (array(select json_array_elements_text($2::json)))
where schema.nspname = any (array(select json_array_elements_text($1::json))) and relation.relkind in ('r', 'p', 'f')
  and not relation.relispartition
order by schema.nspname, relation.relname, role.rolname
