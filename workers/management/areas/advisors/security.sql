-- Rules about who can read and change what. Each statement follows the shared part of shared.sql.

-- name: auth_users_exposed
, recursive_views as (
  select rule.ev_class as view_oid, used.refobjid as used_oid
  from pg_catalog.pg_rewrite as rule
  join pg_catalog.pg_depend as used
    on used.classid = 2618 and used.objid = rule.oid and used.refclassid = 1259 and used.refobjid <> rule.ev_class
)
select json_build_object('schema', view.schema, 'name', view.name, 'type', view.type,
  'detail', format('The %s %s shows rows of auth.users to clients', view.type, view.quoted),
  'fix', format('revoke all on %s from public, anon, authenticated;', view.quoted))
from served as view
where view.kind in ('v', 'm') and exists (
  with recursive beneath as (
    select link.used_oid from recursive_views as link where link.view_oid = view.oid
    union
    select link.used_oid from recursive_views as link join beneath on beneath.used_oid = link.view_oid)
  select from beneath where beneath.used_oid = to_regclass('auth.users'))

-- name: policy_exists_rls_disabled
select json_build_object('schema', policy.schema, 'name', policy.name, 'type', 'table',
  'detail', format('Table %s has policies (%s), but row level security is off: they have no effect', policy.quoted,
    string_agg(quote_ident(policy.policy), ', ' order by policy.policy)),
  'fix', format('alter table %s enable row level security;', policy.quoted),
  'metadata', json_build_object('policies', json_agg(policy.policy order by policy.policy)))
from policies as policy
where not policy.has_row_security
group by policy.schema, policy.name, policy.quoted

-- name: rls_enabled_no_policy
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table',
  'detail', format('Table %s has row level security and no policy: clients see no row of it', relation.quoted))
from relations as relation
where relation.kind in ('r', 'p') and relation.has_row_security
  and not exists (select from pg_catalog.pg_policy as policy where policy.polrelid = relation.oid)

-- name: security_definer_view
select json_build_object('schema', view.schema, 'name', view.name, 'type', 'view',
  'detail', format('View %s reads with the rights of its owner, not of the client: policies of its tables do not apply', view.quoted),
  'fix', format('alter view %s set (security_invoker = on);', view.quoted))
from served as view
where view.kind = 'v' and not exists (
  select from pg_options_to_table(view.options) as option
  where option.option_name = 'security_invoker' and lower(option.option_value) in ('true', 'on', 'yes', '1', 't', 'y'))

-- name: function_search_path_mutable
select json_build_object('schema', schema.nspname, 'name', function.proname, 'type', 'function',
  'part', pg_get_function_identity_arguments(function.oid),
  'detail', format('Function %I.%I(%s) looks names up along the search_path of its caller, who may put other objects there',
    schema.nspname, function.proname, pg_get_function_identity_arguments(function.oid)),
  'fix', format('alter routine %I.%I(%s) set search_path = %s;', schema.nspname, function.proname,
    pg_get_function_identity_arguments(function.oid), case when schema.nspname = 'public' then 'public, extensions, pg_temp'
      else format('%I, public, extensions, pg_temp', schema.nspname) end))
from pg_catalog.pg_proc as function
join project_schemas as schema on schema.oid = function.pronamespace
where function.prokind in ('f', 'p')
  and not exists (select from unnest(function.proconfig) as setting where setting like 'search\_path=%')
  and not exists (
    select from pg_catalog.pg_depend as part
    where part.classid = 1255 and part.objid = function.oid and part.deptype = 'e')

-- name: rls_disabled_in_public
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table',
  'detail', format('Table %s is served to clients and has no row level security: every row is open to them', relation.quoted),
  'fix', format('alter table %s enable row level security;', relation.quoted))
from served as relation
where relation.kind in ('r', 'p') and not relation.has_row_security

-- name: extension_in_public
select json_build_object('schema', 'public', 'name', extension.extname, 'type', 'extension',
  'detail', format('Extension %I is in schema public, so its functions are served to clients', extension.extname),
  'fix', case
    when not extension.extrelocatable or owners.are_others
      then format('drop extension %I; create extension %1$I schema extensions;', extension.extname)
    else format('alter extension %I set schema extensions;', extension.extname) end)
from pg_catalog.pg_extension as extension
join pg_catalog.pg_namespace as schema on schema.oid = extension.extnamespace
-- Objects of trusted extensions belong to the superuser: the owner of the extension cannot move them, but create it again.
cross join lateral (
  select exists (
    select from pg_catalog.pg_depend as part join pg_catalog.pg_proc as function on function.oid = part.objid
    where part.classid = 1255 and part.refclassid = 3079 and part.refobjid = extension.oid and part.deptype = 'e'
      and function.proowner <> extension.extowner) as are_others
) as owners
where schema.nspname = 'public'

-- name: rls_references_user_metadata
select json_build_object('schema', policy.schema, 'name', policy.name, 'type', 'table', 'part', policy.policy,
  'detail', format('Policy %I of table %s refers to user_metadata, which users change themselves', policy.policy, policy.quoted),
  'fix', format('alter policy %I on %s%s%s;', policy.policy, policy.quoted,
    ' using (' || replace(replace(policy.qual, 'raw_user_meta_data', 'raw_app_meta_data'), 'user_metadata', 'app_metadata') || ')',
    ' with check (' || replace(replace(policy.with_check, 'raw_user_meta_data', 'raw_app_meta_data'), 'user_metadata', 'app_metadata')
      || ')'),
  'metadata', json_build_object('policy', policy.policy))
from policies as policy
where concat(policy.qual, ' ', policy.with_check) ~* '(user_metadata|raw_user_meta_data)'

-- name: materialized_view_in_api
select json_build_object('schema', view.schema, 'name', view.name, 'type', 'materialized view',
  'detail', format('Materialized view %s is served to clients; policies do not apply to it', view.quoted),
  'fix', format('revoke all on %s from public, anon, authenticated;', view.quoted))
from served as view where view.kind = 'm'

-- name: foreign_table_in_api
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'foreign table',
  'detail', format('Foreign table %s is served to clients; policies do not apply to it', relation.quoted),
  'fix', format('revoke all on %s from public, anon, authenticated;', relation.quoted))
from served as relation where relation.kind = 'f'

-- name: unsupported_reg_types
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table', 'part', field.attname,
  'detail', format('Column %I of table %s has type %s, which an upgrade of the server cannot carry over', field.attname,
    relation.quoted, format_type(field.atttypid, null)),
  'fix', format('alter table %s alter column %I type text using %2$I::text;', relation.quoted, field.attname),
  'metadata', json_build_object('column', field.attname))
from pg_catalog.pg_attribute as field
join relations as relation on relation.oid = field.attrelid
where relation.kind in ('r', 'p') and field.attnum > 0 and not field.attisdropped and field.atttypid in (
  'regcollation'::regtype, 'regconfig'::regtype, 'regdictionary'::regtype, 'regnamespace'::regtype, 'regoper'::regtype,
  'regoperator'::regtype, 'regproc'::regtype, 'regprocedure'::regtype)

-- name: insecure_queue_exposed_in_api
select json_build_object('schema', 'pgmq', 'name', queue.relname, 'type', 'table',
  'detail', format('Queue %I has no row level security, and schema pgmq_public serves queues to clients', substr(queue.relname, 3)),
  'fix', format('alter table pgmq.%I enable row level security;', queue.relname))
from pg_catalog.pg_class as queue
join pg_catalog.pg_namespace as schema on schema.oid = queue.relnamespace, input
where schema.nspname = 'pgmq' and queue.relkind in ('r', 'p') and queue.relname ~ '^q_' and not queue.relrowsecurity
  and not queue.relispartition and input.lists -> 'exposed' ? 'pgmq_public'

-- name: fkey_to_auth_unique
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table', 'part', reference.conname,
  'detail', format('Foreign key %I of table %s refers to a unique constraint of schema auth, which the platform may change',
    reference.conname, relation.quoted),
  'metadata', json_build_object('constraint', reference.conname))
from pg_catalog.pg_constraint as reference
join relations as relation on relation.oid = reference.conrelid
join pg_catalog.pg_class as target on target.oid = reference.confrelid
join pg_catalog.pg_namespace as schema on schema.oid = target.relnamespace
join pg_catalog.pg_index as used on used.indexrelid = reference.conindid
where reference.contype = 'f' and schema.nspname = 'auth' and not used.indisprimary

-- name: extension_versions_outdated
select json_build_object('schema', schema.nspname, 'name', extension.extname, 'type', 'extension',
  'detail', format('Extension %I is installed as %s; the server has %s', extension.extname, extension.extversion,
    available.default_version),
  'fix', format('alter extension %I update to %L;', extension.extname, available.default_version),
  'metadata', json_build_object('installed', extension.extversion, 'available', available.default_version))
from pg_catalog.pg_extension as extension
join pg_catalog.pg_namespace as schema on schema.oid = extension.extnamespace
join pg_catalog.pg_available_extensions() as available on available.name = extension.extname
where available.default_version is distinct from extension.extversion

-- name: sensitive_columns_exposed
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table',
  'detail', format('Table %s is served to clients without row level security, and has columns that look secret: %s', relation.quoted,
    string_agg(quote_ident(field.attname), ', ' order by field.attnum)),
  'fix', format('alter table %s enable row level security;', relation.quoted),
  'metadata', json_build_object('columns', json_agg(field.attname order by field.attnum)))
from served as relation
join pg_catalog.pg_attribute as field on field.attrelid = relation.oid and field.attnum > 0 and not field.attisdropped
where relation.kind in ('r', 'p') and not relation.has_row_security and replace(lower(field.attname), '-', '_') ~ (
  '(^|_)(password|passwd|pwd|secret|api_?key|token|jwt|auth_code|otp|2fa|ssn|social_security|driver_license|passport_number|'
  'national_id|tax_id|credit_card|card_number|cvv|bank_account|account_number|routing_number|iban|swift_code|health_record|'
  'medical_record|patient_id|insurance_number|diagnosis|mac_address|imei|device_uuid|ssh_key|pgp_key|certificate|fingerprint|'
  'biometric|facial_recognition)(s?$|_)')
group by relation.schema, relation.name, relation.quoted

-- name: rls_policy_always_true
select json_build_object('schema', policy.schema, 'name', policy.name, 'type', 'table', 'part', policy.policy,
  'detail', format('Policy %I of table %s lets clients change every row: its expression is always true', policy.policy, policy.quoted),
  'metadata', json_build_object('policy', policy.policy))
from policies as policy
where policy.has_row_security and policy.is_permissive and policy.command <> 'r'
  and (policy.roles = '{0}' or policy.roles && (select array_agg(role.oid) from api_roles as role))
  and (policy.command in ('w', 'd', '*') and policy.qual ~ '^\(*(true|1 = 1|''(\w*)''::text = ''\2''::text)\)*$'
    or policy.command in ('a', 'w', '*') and policy.with_check ~ '^\(*(true|1 = 1|''(\w*)''::text = ''\2''::text)\)*$')

-- name: public_bucket_allows_listing
-- A policy lists a bucket if it allows reads of every object, or of every object of that bucket.
select json_build_object('schema', 'storage', 'name', 'objects', 'type', 'table', 'part', policy.polname,
  'detail', format('Policy %I of storage.objects lets clients list all objects of the public bucket %s; objects of a public bucket are read'
    ' by their addresses without it', policy.polname, bucket.id),
  'fix', format('drop policy %I on storage.objects;', policy.polname),
  'metadata', json_build_object('bucket', bucket.id, 'policy', policy.polname))
from pg_catalog.pg_policy as policy
join storage.buckets as bucket on bucket.public
where policy.polrelid = to_regclass('storage.objects') and policy.polpermissive and policy.polcmd in ('r', '*')
  and (policy.polroles = '{0}' or policy.polroles && (select array_agg(role.oid) from api_roles as role))
  and pg_get_expr(policy.polqual, policy.polrelid) in ('true', format('(bucket_id = %L::text)', bucket.id))

-- name: pg_graphql_anon_table_exposed
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', relation.type,
  'detail', format('Anyone with the public key sees %s %s in the schema of GraphQL', relation.type, relation.quoted),
  'fix', format('revoke select on %s from public, anon;', relation.quoted))
from served as relation
where has_any_column_privilege('anon', relation.oid, 'select')
  and exists (select from pg_catalog.pg_extension where extname = 'pg_graphql')

-- name: pg_graphql_authenticated_table_exposed
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', relation.type,
  'detail', format('Every signed-in user sees %s %s in the schema of GraphQL', relation.type, relation.quoted),
  'fix', format('revoke select on %s from public, authenticated;', relation.quoted))
from served as relation
where has_any_column_privilege('authenticated', relation.oid, 'select')
  and exists (select from pg_catalog.pg_extension where extname = 'pg_graphql')

-- name: anon_security_definer_function_executable
select json_build_object('schema', schema.nspname, 'name', function.proname, 'type', 'function',
  'part', pg_get_function_identity_arguments(function.oid),
  'detail', format('Anyone with the public key may call %I.%I(%s), which runs with the rights of its owner',
    schema.nspname, function.proname, pg_get_function_identity_arguments(function.oid)),
  'fix', format('revoke execute on function %I.%I(%s) from public, anon;', schema.nspname, function.proname,
    pg_get_function_identity_arguments(function.oid)))
from pg_catalog.pg_proc as function
join project_schemas as schema on schema.oid = function.pronamespace
where function.prosecdef and function.prokind = 'f' and function.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
  and schema.oid in (select exposed.oid from exposed_schemas as exposed) and has_function_privilege('anon', function.oid, 'execute')
  and not exists (
    select from pg_catalog.pg_depend as part
    where part.classid = 1255 and part.objid = function.oid and part.deptype = 'e')

-- name: authenticated_security_definer_function_executable
select json_build_object('schema', schema.nspname, 'name', function.proname, 'type', 'function',
  'part', pg_get_function_identity_arguments(function.oid),
  'detail', format('Every signed-in user may call %I.%I(%s), which runs with the rights of its owner',
    schema.nspname, function.proname, pg_get_function_identity_arguments(function.oid)),
  'fix', format('revoke execute on function %I.%I(%s) from public, authenticated;', schema.nspname, function.proname,
    pg_get_function_identity_arguments(function.oid)))
from pg_catalog.pg_proc as function
join project_schemas as schema on schema.oid = function.pronamespace
where function.prosecdef and function.prokind = 'f' and function.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
  and schema.oid in (select exposed.oid from exposed_schemas as exposed) and has_function_privilege('authenticated', function.oid, 'execute')
  and not exists (
    select from pg_catalog.pg_depend as part
    where part.classid = 1255 and part.objid = function.oid and part.deptype = 'e')
