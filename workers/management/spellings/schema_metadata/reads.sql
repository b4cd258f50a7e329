-- What the lists and single objects of the schema metadata interface answer: one row of (id, object as JSON) for each object.
--
-- Parameters that several statements share:
--   schemas to include (null: all), schemas to leave out (null: none), ids (null: all), limit and offset (null: none).
-- Fields and their meaning: docs/reference/schema-metadata.md.

-- name: schemas
select space.oid::text, pg_catalog.json_build_object(
  'id', space.oid::bigint,
  'name', space.nspname,
  'owner', pg_catalog.pg_get_userbyid(space.nspowner))
from pg_catalog.pg_namespace as space
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or space.oid = any($3::oid[]))
  and ($4::text is null or space.nspname = $4::text)
  and ($5::boolean or not pg_catalog.starts_with(space.nspname, 'pg_'))
  and not pg_catalog.starts_with(space.nspname, 'pg_temp_')
  and not pg_catalog.starts_with(space.nspname, 'pg_toast_temp_')
  and (pg_catalog.pg_has_role(space.nspowner, 'USAGE')
    or pg_catalog.has_schema_privilege(space.oid, 'CREATE, USAGE'))
order by space.oid limit $6::bigint offset $7::bigint

-- name: tables
-- A relationship is shown with both of its tables. All are read at once: pg_constraint has no index for the target.
with linked as (
  select place.relation_id, pg_catalog.json_agg(pg_catalog.json_build_object(
    'id', link.oid::bigint,
    'constraint_name', link.conname,
    'source_schema', source_space.nspname,
    'source_table_name', source.relname,
    'source_column_name', source_column.attname,
    'target_table_schema', target_space.nspname,
    'target_table_name', target.relname,
    'target_column_name', target_column.attname)
    order by link.oid, source_column.attnum, target_column.attnum) as relationships
  from pg_catalog.pg_constraint as link
  cross join lateral (
    select link.conrelid union select link.confrelid
  ) as place (relation_id)
  join pg_catalog.pg_class as source on source.oid = link.conrelid
  join pg_catalog.pg_namespace as source_space on source_space.oid = source.relnamespace
  join pg_catalog.pg_class as target on target.oid = link.confrelid
  join pg_catalog.pg_namespace as target_space on target_space.oid = target.relnamespace
  -- Every column of the key with every column that it refers to: the form of the interface.
  join pg_catalog.pg_attribute as source_column
    on source_column.attrelid = source.oid and source_column.attnum = any(link.conkey)
  join pg_catalog.pg_attribute as target_column
    on target_column.attrelid = target.oid and target_column.attnum = any(link.confkey)
  where link.contype = 'f' and ($3::oid[] is null or place.relation_id = any($3::oid[]))
  group by place.relation_id
)
select relation.oid::text, pg_catalog.json_build_object(
  'id', relation.oid::bigint,
  'schema', space.nspname,
  'name', relation.relname,
  'rls_enabled', relation.relrowsecurity,
  'rls_forced', relation.relforcerowsecurity,
  'replica_identity', case relation.relreplident
    when 'd' then 'DEFAULT' when 'i' then 'INDEX' when 'f' then 'FULL' else 'NOTHING' end,
  'bytes', size.bytes,
  'size', pg_catalog.pg_size_pretty(size.bytes),
  'live_rows_estimate', pg_catalog.pg_stat_get_live_tuples(relation.oid),
  'dead_rows_estimate', pg_catalog.pg_stat_get_dead_tuples(relation.oid),
  'comment', pg_catalog.obj_description(relation.oid, 'pg_class'),
  'primary_keys', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'schema', space.nspname, 'table_name', relation.relname, 'name', attribute.attname,
      'table_id', relation.oid::bigint) order by key.place)
    from pg_catalog.pg_index as index
    cross join lateral pg_catalog.unnest(index.indkey::smallint[]) with ordinality as key (number, place)
    join pg_catalog.pg_attribute as attribute on attribute.attrelid = relation.oid and attribute.attnum = key.number
    where index.indrelid = relation.oid and index.indisprimary and key.place <= index.indnkeyatts), '[]'),
  'relationships', coalesce(linked.relationships, '[]'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
cross join lateral (select pg_catalog.pg_total_relation_size(relation.oid) as bytes) as size
left join linked on linked.relation_id = relation.oid
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or relation.oid = any($3::oid[]))
  and ($4::text is null or relation.relname = $4::text)
  and relation.relkind in ('r', 'p')
  and not pg_catalog.pg_is_other_temp_schema(space.oid)
  and (pg_catalog.pg_has_role(relation.relowner, 'USAGE')
    or pg_catalog.has_table_privilege(relation.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    or pg_catalog.has_any_column_privilege(relation.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by relation.oid limit $5::bigint offset $6::bigint

-- name: columns
-- The first value is the id of the relation. $4: the ids of columns, as in '16385.2'.
select relation.oid::text, pg_catalog.json_build_object(
  'table_id', relation.oid::bigint,
  'schema', space.nspname,
  'table', relation.relname,
  'id', pg_catalog.concat(relation.oid, '.', attribute.attnum),
  'ordinal_position', attribute.attnum,
  'name', attribute.attname,
  'default_value', case when attribute.atthasdef then (
    select pg_catalog.pg_get_expr(fallback.adbin, fallback.adrelid) from pg_catalog.pg_attrdef as fallback
    where fallback.adrelid = attribute.attrelid and fallback.adnum = attribute.attnum) end,
  'data_type', case
    when bottom.typelem <> 0 and bottom.typlen = -1 then 'ARRAY'
    when bottom_space.nspname = 'pg_catalog' then pg_catalog.format_type(bottom.oid, null)
    else 'USER-DEFINED' end,
  'format', bottom.typname,
  'is_identity', attribute.attidentity in ('a', 'd'),
  'identity_generation', case attribute.attidentity when 'a' then 'ALWAYS' when 'd' then 'BY DEFAULT' end,
  'is_generated', attribute.attgenerated = 's',
  'is_nullable', not (attribute.attnotnull or (kind.typtype = 'd' and kind.typnotnull)),
  -- A foreign table whose wrapper has no handler cannot be asked.
  'is_updatable', case when relation.relkind in ('r', 'p') then true
    when relation.relkind = 'v' or (relation.relkind = 'f' and exists (
      select from pg_catalog.pg_foreign_table as remote
      join pg_catalog.pg_foreign_server as server on server.oid = remote.ftserver
      join pg_catalog.pg_foreign_data_wrapper as wrapper on wrapper.oid = server.srvfdw
      where remote.ftrelid = relation.oid and wrapper.fdwhandler <> 0))
    then pg_catalog.pg_column_is_updatable(relation.oid, attribute.attnum, false)
    else false end,
  'is_unique', exists (
    select from pg_catalog.pg_constraint as unique_key
    where unique_key.conrelid = relation.oid and unique_key.contype = 'u'
      and pg_catalog.cardinality(unique_key.conkey) = 1 and unique_key.conkey[1] = attribute.attnum),
  -- The text of the condition begins after "CHECK (", and its last character is the bracket that closes it.
  'check', (
    select pg_catalog.substring(definition, 8, pg_catalog.length(definition) - 8)
    from pg_catalog.pg_constraint as condition
    cross join lateral pg_catalog.pg_get_constraintdef(condition.oid, true) as definition
    where condition.conrelid = relation.oid and condition.contype = 'c'
      and pg_catalog.cardinality(condition.conkey) = 1 and condition.conkey[1] = attribute.attnum
    order by condition.oid limit 1),
  'enums', coalesce((
    select pg_catalog.json_agg(label.enumlabel order by label.enumsortorder)
    from pg_catalog.pg_enum as label where label.enumtypid in (bottom.oid, bottom.typelem)), '[]'),
  'comment', pg_catalog.col_description(relation.oid, attribute.attnum))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
join pg_catalog.pg_attribute as attribute on attribute.attrelid = relation.oid
join pg_catalog.pg_type as kind on kind.oid = attribute.atttypid
-- Of a domain, the type that it is declared on.
join pg_catalog.pg_type as bottom
  on bottom.oid = case when kind.typtype = 'd' then kind.typbasetype else kind.oid end
join pg_catalog.pg_namespace as bottom_space on bottom_space.oid = bottom.typnamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or relation.oid = any($3::oid[]))
  and ($4::text[] is null or pg_catalog.concat(relation.oid, '.', attribute.attnum) = any($4::text[]))
  and ($5::text is null or attribute.attname = $5::text)
  and relation.relkind = any($8::"char"[])
  and attribute.attnum > 0 and not attribute.attisdropped
  and not pg_catalog.pg_is_other_temp_schema(space.oid)
  and (pg_catalog.pg_has_role(relation.relowner, 'USAGE')
    or pg_catalog.has_column_privilege(relation.oid, attribute.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by relation.oid, attribute.attnum limit $6::bigint offset $7::bigint

-- name: views
select relation.oid::text, pg_catalog.json_build_object(
  'id', relation.oid::bigint,
  'schema', space.nspname,
  'name', relation.relname,
  'is_updatable', pg_catalog.pg_relation_is_updatable(relation.oid, false) & 20 = 20,
  'comment', pg_catalog.obj_description(relation.oid, 'pg_class'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or relation.oid = any($3::oid[]))
  and relation.relkind = 'v'
order by relation.oid limit $4::bigint offset $5::bigint

-- name: materialized_views
select relation.oid::text, pg_catalog.json_build_object(
  'id', relation.oid::bigint,
  'schema', space.nspname,
  'name', relation.relname,
  'is_populated', relation.relispopulated,
  'comment', pg_catalog.obj_description(relation.oid, 'pg_class'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or relation.oid = any($3::oid[]))
  and relation.relkind = 'm'
order by relation.oid limit $4::bigint offset $5::bigint

-- name: foreign_tables
select relation.oid::text, pg_catalog.json_build_object(
  'id', relation.oid::bigint,
  'schema', space.nspname,
  'name', relation.relname,
  'comment', pg_catalog.obj_description(relation.oid, 'pg_class'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or relation.oid = any($3::oid[]))
  and relation.relkind = 'f'
order by relation.oid limit $4::bigint offset $5::bigint

-- name: functions
-- `has_default` counts the places of all arguments, outputs included, as the interface does; beyond the inputs it is null.
select function.oid::text, pg_catalog.json_build_object(
  'id', function.oid::bigint,
  'schema', space.nspname,
  'name', function.proname,
  'language', language.lanname,
  'definition', case when language.lanname = 'internal' then '' else function.prosrc end,
  'complete_statement', case when language.lanname = 'internal' then function.prosrc
    else pg_catalog.pg_get_functiondef(function.oid) end,
  'args', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'mode', case coalesce(function.proargmodes[argument.place]::text, 'i')
        when 'i' then 'in' when 'o' then 'out' when 'b' then 'inout' when 'v' then 'variadic' else 'table' end,
      'name', coalesce(function.proargnames[argument.place], ''),
      'type_id', argument.type::bigint,
      'has_default', case when argument.place <= function.pronargs
        then argument.place > function.pronargs - function.pronargdefaults end) order by argument.place)
    from pg_catalog.unnest(coalesce(function.proallargtypes, function.proargtypes::oid[]))
      with ordinality as argument (type, place)), '[]'),
  'argument_types', pg_catalog.pg_get_function_arguments(function.oid),
  'identity_argument_types', pg_catalog.pg_get_function_identity_arguments(function.oid),
  'return_type_id', function.prorettype::bigint,
  'return_type', pg_catalog.pg_get_function_result(function.oid),
  'return_type_relation_id', (
    select nullif(type.typrelid::bigint, 0) from pg_catalog.pg_type as type where type.oid = function.prorettype),
  'is_set_returning_function', function.proretset,
  'prorows', case when function.proretset then nullif(function.prorows, 0) end,
  'behavior', case function.provolatile when 'i' then 'IMMUTABLE' when 's' then 'STABLE' when 'v' then 'VOLATILE' end,
  'security_definer', function.prosecdef,
  'config_params', (
    select pg_catalog.json_object_agg(
      pg_catalog.split_part(setting.text, '=', 1), pg_catalog.split_part(setting.text, '=', 2))
    from pg_catalog.unnest(function.proconfig) as setting (text)))
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as space on space.oid = function.pronamespace
join pg_catalog.pg_language as language on language.oid = function.prolang
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or function.oid = any($3::oid[]))
  and function.prokind = 'f'
order by function.oid limit $4::bigint offset $5::bigint

-- name: types
-- $3: with arrays; $4: the kinds of relations (relkind) whose row types are listed, 'c' for those declared by themselves.
select type.oid::text, pg_catalog.json_build_object(
  'id', type.oid::bigint,
  'name', type.typname,
  'schema', space.nspname,
  'format', pg_catalog.format_type(type.oid, null),
  'enums', coalesce((
    select pg_catalog.json_agg(label.enumlabel order by label.enumsortorder)
    from pg_catalog.pg_enum as label where label.enumtypid = type.oid), '[]'),
  'attributes', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object('name', attribute.attname,
      'type_id', attribute.atttypid::bigint) order by attribute.attnum)
    from pg_catalog.pg_attribute as attribute
    where attribute.attrelid = relation.oid and relation.relkind = 'c' and not attribute.attisdropped), '[]'),
  'comment', pg_catalog.obj_description(type.oid, 'pg_type'),
  'type_relation_id', nullif(type.typrelid::bigint, 0))
from pg_catalog.pg_type as type
join pg_catalog.pg_namespace as space on space.oid = type.typnamespace
left join pg_catalog.pg_class as relation on relation.oid = type.typrelid
left join pg_catalog.pg_type as element on element.oid = type.typelem and element.typarray = type.oid
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and (type.typrelid = 0 or relation.relkind = any($4::"char"[]))
  and ($3::boolean or element.oid is null)
order by type.oid limit $5::bigint offset $6::bigint

-- name: triggers
-- As the view information_schema.triggers lists them: not the internal ones, and no TRUNCATE among the events.
select trigger.oid::text, pg_catalog.json_build_object(
  'id', trigger.oid::bigint,
  'table_id', trigger.tgrelid::bigint,
  'enabled_mode', case trigger.tgenabled
    when 'D' then 'DISABLED' when 'O' then 'ORIGIN' when 'R' then 'REPLICA' when 'A' then 'ALWAYS' end,
  'function_args', pg_catalog.to_json((pg_catalog.string_to_array(
    pg_catalog.encode(trigger.tgargs, 'escape'), '\000'))[:trigger.tgnargs]),
  'name', trigger.tgname,
  'table', relation.relname,
  'schema', space.nspname,
  'condition', case when pg_catalog.pg_has_role(relation.relowner, 'USAGE') then
    (pg_catalog.regexp_match(pg_catalog.pg_get_triggerdef(trigger.oid), '.{35,} WHEN \((.+)\) EXECUTE FUNCTION'))[1] end,
  'orientation', case when trigger.tgtype & 1 = 1 then 'ROW' else 'STATEMENT' end,
  'activation', case trigger.tgtype & 66 when 2 then 'BEFORE' when 64 then 'INSTEAD OF' else 'AFTER' end,
  'events', pg_catalog.to_json(pg_catalog.array_remove(array[
    case when trigger.tgtype & 4 = 4 then 'INSERT' end,
    case when trigger.tgtype & 8 = 8 then 'DELETE' end,
    case when trigger.tgtype & 16 = 16 then 'UPDATE' end], null)),
  'function_name', function.proname,
  'function_schema', function_space.nspname)
from pg_catalog.pg_trigger as trigger
join pg_catalog.pg_class as relation on relation.oid = trigger.tgrelid
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
join pg_catalog.pg_proc as function on function.oid = trigger.tgfoid
join pg_catalog.pg_namespace as function_space on function_space.oid = function.pronamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or trigger.oid = any($3::oid[]))
  and ($4::text is null or trigger.tgname = $4::text)
  and ($5::text is null or relation.relname = $5::text)
  and not trigger.tgisinternal and trigger.tgtype & 28 <> 0
  and not pg_catalog.pg_is_other_temp_schema(space.oid)
  and (pg_catalog.pg_has_role(relation.relowner, 'USAGE')
    or pg_catalog.has_table_privilege(relation.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
    or pg_catalog.has_any_column_privilege(relation.oid, 'INSERT, UPDATE, REFERENCES'))
order by trigger.oid limit $6::bigint offset $7::bigint

-- name: policies
select policy.oid::text, pg_catalog.json_build_object(
  'id', policy.oid::bigint,
  'schema', space.nspname,
  'table', relation.relname,
  'table_id', relation.oid::bigint,
  'name', policy.polname,
  'action', case when policy.polpermissive then 'PERMISSIVE' else 'RESTRICTIVE' end,
  'roles', case when policy.polroles = array[0::oid] then '["public"]'::json else (
    select coalesce(pg_catalog.json_agg(role.rolname order by role.rolname), '[]')
    from pg_catalog.pg_roles as role where role.oid = any(policy.polroles)) end,
  'command', case policy.polcmd when 'r' then 'SELECT' when 'a' then 'INSERT' when 'w' then 'UPDATE'
    when 'd' then 'DELETE' when '*' then 'ALL' end,
  'definition', pg_catalog.pg_get_expr(policy.polqual, policy.polrelid),
  'check', pg_catalog.pg_get_expr(policy.polwithcheck, policy.polrelid))
from pg_catalog.pg_policy as policy
join pg_catalog.pg_class as relation on relation.oid = policy.polrelid
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or policy.oid = any($3::oid[]))
  and ($4::text is null or policy.polname = $4::text)
  and ($5::text is null or relation.relname = $5::text)
order by policy.oid limit $6::bigint offset $7::bigint

-- name: indexes
-- `index_attributes` has the columns of the index whose place is one of the numbers in `key_attributes` (the form of the
-- interface), or all of them where that leaves none.
select index.indexrelid::text, pg_catalog.json_build_object(
  'id', index.indexrelid::bigint,
  'table_id', index.indrelid::bigint,
  'schema', space.nspname,
  'number_of_attributes', index.indnatts,
  'number_of_key_attributes', index.indnkeyatts,
  'is_unique', index.indisunique,
  'is_primary', index.indisprimary,
  'is_exclusion', index.indisexclusion,
  'is_immediate', index.indimmediate,
  'is_clustered', index.indisclustered,
  'is_valid', index.indisvalid,
  'check_xmin', index.indcheckxmin,
  'is_ready', index.indisready,
  'is_live', index.indislive,
  'is_replica_identity', index.indisreplident,
  'key_attributes', index.indkey::smallint[],
  'collation', index.indcollation::integer[],
  'class', index.indclass::integer[],
  'options', index.indoption::smallint[],
  'index_predicate', index.indpred::text,
  'comment', pg_catalog.obj_description(index.indexrelid, 'pg_class'),
  'index_definition', pg_catalog.pg_get_indexdef(index.indexrelid),
  'access_method', method.amname,
  'index_attributes', (
    select coalesce(
      pg_catalog.json_agg(part.object order by part.number) filter (where part.number = any(index.indkey)),
      pg_catalog.json_agg(part.object order by part.number))
    from (
      select attribute.attnum as number, pg_catalog.json_build_object(
        'attribute_number', attribute.attnum, 'attribute_name', attribute.attname,
        'data_type', pg_catalog.format_type(attribute.atttypid, attribute.atttypmod)) as object
      from pg_catalog.pg_attribute as attribute
      where attribute.attrelid = index.indexrelid and attribute.attnum > 0) as part))
from pg_catalog.pg_index as index
join pg_catalog.pg_class as relation on relation.oid = index.indexrelid
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
join pg_catalog.pg_am as method on method.oid = relation.relam
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or index.indexrelid = any($3::oid[]))
order by index.indexrelid limit $4::bigint offset $5::bigint

-- name: publications
select publication.oid::text, pg_catalog.json_build_object(
  'id', publication.oid::bigint,
  'name', publication.pubname,
  'owner', publication.pubowner::regrole::text,
  'publish_insert', publication.pubinsert,
  'publish_update', publication.pubupdate,
  'publish_delete', publication.pubdelete,
  'publish_truncate', publication.pubtruncate,
  'tables', case when not publication.puballtables then coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'id', relation.oid::bigint, 'name', relation.relname, 'schema', space.nspname) order by relation.oid)
    from pg_catalog.pg_publication_rel as published
    join pg_catalog.pg_class as relation on relation.oid = published.prrelid
    join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
    where published.prpubid = publication.oid), '[]') end)
from pg_catalog.pg_publication as publication
where ($1::oid[] is null or publication.oid = any($1::oid[]))
  and ($2::text is null or publication.pubname = $2::text)
order by publication.oid limit $3::bigint offset $4::bigint

-- name: roles
select role.oid::text, pg_catalog.json_build_object(
  'id', role.oid::bigint,
  'name', role.rolname,
  'is_superuser', role.rolsuper,
  'can_create_db', role.rolcreatedb,
  'can_create_role', role.rolcreaterole,
  'inherit_role', role.rolinherit,
  'can_login', role.rolcanlogin,
  'is_replication_role', role.rolreplication,
  'can_bypass_rls', role.rolbypassrls,
  'active_connections', (
    select pg_catalog.count(*) from pg_catalog.pg_stat_activity as activity where activity.usename = role.rolname),
  'connection_limit', case when role.rolconnlimit = -1 then pg_catalog.current_setting('max_connections')::bigint
    else role.rolconnlimit end,
  'password', role.rolpassword,
  'valid_until', role.rolvaliduntil::text,
  'config', (
    select pg_catalog.json_object_agg(
      pg_catalog.split_part(setting.text, '=', 1), pg_catalog.split_part(setting.text, '=', 2))
    from pg_catalog.unnest(role.rolconfig) as setting (text)))
from pg_catalog.pg_roles as role
where ($1::oid[] is null or role.oid = any($1::oid[]))
  and ($2::text is null or role.rolname = $2::text)
  and ($3::boolean or not pg_catalog.starts_with(role.rolname, 'pg_'))
order by role.oid limit $4::bigint offset $5::bigint

-- name: extensions
select extension.name::text, pg_catalog.json_build_object(
  'name', extension.name,
  'schema', space.nspname,
  'default_version', extension.default_version,
  'installed_version', installed.extversion,
  'comment', extension.comment)
from pg_catalog.pg_available_extensions() as extension
left join pg_catalog.pg_extension as installed on installed.extname = extension.name
left join pg_catalog.pg_namespace as space on space.oid = installed.extnamespace
where ($1::text is null or extension.name = $1::text)
order by extension.name limit $2::bigint offset $3::bigint

-- name: config
select setting.name, pg_catalog.json_build_object(
  'name', setting.name,
  'setting', setting.setting,
  'category', setting.category,
  'group', pg_catalog.btrim(pg_catalog.split_part(setting.category, '/', 1)),
  'subgroup', pg_catalog.btrim(pg_catalog.split_part(setting.category, '/', 2)),
  'unit', setting.unit,
  'short_desc', setting.short_desc,
  'extra_desc', setting.extra_desc,
  'context', setting.context,
  'vartype', setting.vartype,
  'source', setting.source,
  'min_val', setting.min_val,
  'max_val', setting.max_val,
  'enumvals', setting.enumvals,
  'boot_val', setting.boot_val,
  'reset_val', setting.reset_val,
  'sourcefile', setting.sourcefile,
  'sourceline', setting.sourceline,
  'pending_restart', setting.pending_restart)
from pg_catalog.pg_settings as setting
order by setting.category, setting.name limit $1::bigint offset $2::bigint

-- name: version
select '', pg_catalog.json_build_object(
  'version', pg_catalog.version(),
  'version_number', pg_catalog.current_setting('server_version_num')::bigint,
  'active_connections', (select pg_catalog.count(*) from pg_catalog.pg_stat_activity),
  'max_connections', pg_catalog.current_setting('max_connections')::bigint)

-- name: table_privileges
select relation.oid::text, pg_catalog.json_build_object(
  'relation_id', relation.oid::bigint,
  'schema', space.nspname,
  'name', relation.relname,
  'kind', case relation.relkind when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized_view'
    when 'f' then 'foreign_table' when 'p' then 'partitioned_table' end,
  'privileges', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'grantor', grantor.rolname,
      'grantee', case when entry.grantee = 0 then 'PUBLIC' else grantee.rolname end,
      'privilege_type', entry.privilege_type,
      'is_grantable', entry.is_grantable) order by entry.place)
    from pg_catalog.aclexplode(coalesce(relation.relacl, pg_catalog.acldefault('r', relation.relowner)))
      with ordinality as entry (grantor, grantee, privilege_type, is_grantable, place)
    left join pg_catalog.pg_roles as grantor on grantor.oid = entry.grantor
    left join pg_catalog.pg_roles as grantee on grantee.oid = entry.grantee), '[]'))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where ($1::text[] is null or space.nspname = any($1::text[]))
  and ($2::text[] is null or space.nspname <> all($2::text[]))
  and ($3::oid[] is null or relation.oid = any($3::oid[]))
  and relation.relkind in ('r', 'v', 'm', 'f', 'p')
  and not pg_catalog.pg_is_other_temp_schema(space.oid)
  and (pg_catalog.pg_has_role(relation.relowner, 'USAGE')
    or pg_catalog.has_table_privilege(relation.oid, $6::text)
    or pg_catalog.has_any_column_privilege(relation.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
order by relation.oid limit $4::bigint offset $5::bigint

-- name: column_privileges
-- Rights on a whole relation are rights on each of its columns; those on single columns come with them, without repetition.
with relation as (
  select class.oid, class.relname, class.relowner, class.relacl, space.nspname
  from pg_catalog.pg_class as class
  join pg_catalog.pg_namespace as space on space.oid = class.relnamespace
  where class.relkind in ('r', 'v', 'm', 'f', 'p')
    and ($1::text[] is null or space.nspname = any($1::text[]))
    and ($2::text[] is null or space.nspname <> all($2::text[]))
), entry as (
  select relation.oid, relation.nspname, relation.relname, attribute.attnum, attribute.attname,
    right_on.grantor, right_on.grantee, right_on.privilege_type, right_on.is_grantable
  from relation
  join pg_catalog.pg_attribute as attribute
    on attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped
  cross join lateral (
    select * from pg_catalog.aclexplode(coalesce(relation.relacl, pg_catalog.acldefault('r', relation.relowner)))
    union
    select * from pg_catalog.aclexplode(coalesce(attribute.attacl, pg_catalog.acldefault('c', relation.relowner)))
  ) as right_on (grantor, grantee, privilege_type, is_grantable)
  where right_on.privilege_type in ('INSERT', 'SELECT', 'UPDATE', 'REFERENCES')
    and ($3::text[] is null or pg_catalog.concat(relation.oid, '.', attribute.attnum) = any($3::text[]))
)
select pg_catalog.concat(entry.oid, '.', entry.attnum), pg_catalog.json_build_object(
  'column_id', pg_catalog.concat(entry.oid, '.', entry.attnum),
  'relation_schema', entry.nspname,
  'relation_name', entry.relname,
  'column_name', entry.attname,
  'privileges', pg_catalog.json_agg(pg_catalog.json_build_object(
    'grantor', grantor.rolname,
    'grantee', coalesce(grantee.rolname, 'PUBLIC'),
    'privilege_type', entry.privilege_type,
    'is_grantable', entry.is_grantable)
    order by grantor.rolname, grantee.rolname, entry.privilege_type))
from entry
join pg_catalog.pg_roles as grantor on grantor.oid = entry.grantor
left join pg_catalog.pg_roles as grantee on grantee.oid = entry.grantee
where (entry.grantee = 0 or grantee.oid is not null)
  and (entry.grantee = 0 or pg_catalog.pg_has_role(entry.grantor, 'USAGE')
    or pg_catalog.pg_has_role(entry.grantee, 'USAGE'))
group by entry.oid, entry.attnum, entry.nspname, entry.relname, entry.attname
order by entry.oid, entry.attnum limit $4::bigint offset $5::bigint
