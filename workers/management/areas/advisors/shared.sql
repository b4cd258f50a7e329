-- What the statements of security.sql and performance.sql begin with. $1 is a JSON object of lists of schemas: `platform` (those of
-- the platform and of Postgres), `exposed` (those that the interfaces serve) and `slots` (replication slots of the platform). search_path is pg_catalog, so no operator or
-- function of a project is called. Policies and indexes are materialized: the planner expects one row behind the filters of some rules,
-- and would compare each with every relation (2000 tables: 4 s). A statement returns rows of one JSON value: schema, name, type, part, detail, fix, metadata.

-- name: shared
with input as (select $1::jsonb as lists),
project_schemas as (
  select schema.oid, schema.nspname from pg_catalog.pg_namespace as schema, input
  where not input.lists -> 'platform' ? schema.nspname::text and schema.nspname !~ '^pg_'
),
exposed_schemas as (
  select schema.oid from pg_catalog.pg_namespace as schema, input where input.lists -> 'exposed' ? schema.nspname::text
),
api_roles as (select role.oid from pg_catalog.pg_roles as role where role.rolname in ('anon', 'authenticated')),
relations as (
  select relation.oid, schema.nspname as schema, relation.relname as name, relation.relkind as kind,
    case relation.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as type,
    relation.relrowsecurity as has_row_security, relation.reloptions as options,
    format('%I.%I', schema.nspname, relation.relname) as quoted
  from pg_catalog.pg_class as relation
  join project_schemas as schema on schema.oid = relation.relnamespace
  where relation.relkind in ('r', 'p', 'v', 'm', 'f') and not exists (
    select from pg_catalog.pg_depend as part
    where part.classid = 1259 and part.objid = relation.oid and part.deptype = 'e')
),
served as (
  select relation.* from relations as relation
  join pg_catalog.pg_class as entry on entry.oid = relation.oid
  where entry.relnamespace in (select exposed.oid from exposed_schemas as exposed)
    and exists (select from api_roles as role where has_table_privilege(role.oid, relation.oid, 'select'))
),
policies as materialized (
  select relation.*, policy.polname as policy, policy.polcmd as command, policy.polpermissive as is_permissive,
    policy.polroles as roles, pg_get_expr(policy.polqual, policy.polrelid) as qual,
    pg_get_expr(policy.polwithcheck, policy.polrelid) as with_check
  from pg_catalog.pg_policy as policy
  join relations as relation on relation.oid = policy.polrelid
),
indexes as materialized (
  select entry.indexrelid as oid, entry.indrelid as table_oid, index_relation.relname as index,
    format('%I.%I', relation.schema, index_relation.relname) as quoted_index, entry.indkey::int2[] as columns,
    entry.indisunique as is_unique, entry.indisprimary as is_primary, relation.schema, relation.name,
    entry.indisreplident or entry.indexrelid in (select backed.conindid from pg_catalog.pg_constraint as backed) as is_needed,
    index_relation.relkind = 'I' or index_relation.relispartition as is_partitioned,
    row(entry.indkey::text, entry.indclass::text, entry.indcollation::text, entry.indoption::text, entry.indisunique,
      entry.indnkeyatts, index_relation.relam, pg_get_expr(entry.indexprs, entry.indrelid),
      pg_get_expr(entry.indpred, entry.indrelid))::text as definition,
    entry.indpred is null and entry.indisvalid as is_whole
  from pg_catalog.pg_index as entry
  join pg_catalog.pg_class as index_relation on index_relation.oid = entry.indexrelid
  join relations as relation on relation.oid = entry.indrelid
)
