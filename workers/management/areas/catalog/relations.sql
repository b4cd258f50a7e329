-- Tables and views with all that belongs to them. Each statement returns a row for each relation: its oid and JSON.
-- $1: schemas as a JSON array; $2: the name of one relation, or null for all. The search path is empty.

-- name: count
select to_json(count(*)) from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
where relation.relkind in ('r', 'p', 'v', 'm', 'f')
  and schema.nspname = any (array(select json_array_elements_text($1::json)))

-- name: relations
select relation.oid::text, json_build_object(
  'schema', schema.nspname, 'name', relation.relname,
  'kind', case relation.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' else 'foreign table' end,
  'owner', pg_get_userbyid(relation.relowner),
  'has_row_security', relation.relrowsecurity, 'forces_row_security', relation.relforcerowsecurity,
  'rows', case when relation.reltuples < 0 then null else relation.reltuples::int8 end,
  'bytes', coalesce(pg_total_relation_size(relation.oid), 0),
  'table_bytes', coalesce(pg_relation_size(relation.oid), 0),
  'options', coalesce(relation.reloptions, '{}'),
  'publications', array(select publication.pubname from pg_publication as publication
    where publication.puballtables and relation.relkind in ('r', 'p')
      or exists (select from pg_publication_rel as member
        where member.prpubid = publication.oid and member.prrelid = relation.oid)
      or exists (select from pg_publication_namespace as member
        where member.pnpubid = publication.oid and member.pnnspid = relation.relnamespace and relation.relkind in ('r', 'p'))
    order by publication.pubname),
  'parents', array(select parent.inhparent::regclass::text from pg_inherits as parent
    where parent.inhrelid = relation.oid order by parent.inhseqno),
  'partitions', (select coalesce(json_object_agg(child.inhrelid::regclass::text,
      coalesce(pg_get_expr(partition.relpartbound, partition.oid), '')), '{}')
    from pg_inherits as child join pg_class as partition on partition.oid = child.inhrelid
    where child.inhparent = relation.oid),
  'partition_key', case when relation.relkind = 'p' then pg_get_partkeydef(relation.oid) end,
  'partition_bound', case when relation.relispartition then pg_get_expr(relation.relpartbound, relation.oid) end,
  'definition', case when relation.relkind in ('v', 'm') then pg_get_viewdef(relation.oid) end,
  'comment', obj_description(relation.oid, 'pg_class'))
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
where relation.relkind in ('r', 'p', 'v', 'm', 'f')
  and schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
order by schema.nspname, relation.relname

-- name: columns
select relation.oid::text, json_agg(json_build_object(
  'name', attribute.attname, 'position', attribute.attnum,
  'type', format_type(attribute.atttypid, attribute.atttypmod),
  'type_schema', type_schema.nspname, 'type_name', element.typname,
  'type_kind', case element.typtype when 'b' then 'base' when 'c' then 'composite' when 'd' then 'domain'
    when 'e' then 'enum' when 'r' then 'range' when 'm' then 'multirange' else 'pseudo' end,
  'is_array', type.typelem <> 0 and type.typcategory = 'A',
  'is_nullable', not attribute.attnotnull,
  'default', pg_get_expr(default_value.adbin, default_value.adrelid),
  'identity', case attribute.attidentity when 'a' then 'always' when 'd' then 'by default' end,
  'generated', case attribute.attgenerated when 's' then 'stored' when 'v' then 'virtual' end,
  'collation', case when attribute.attcollation <> type.typcollation then collation_.collname end,
  'comment', comment.description) order by attribute.attnum)
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_attribute as attribute on attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped
join pg_type as type on type.oid = attribute.atttypid
join pg_type as element
  on element.oid = case when type.typelem <> 0 and type.typcategory = 'A' then type.typelem else type.oid end
join pg_namespace as type_schema on type_schema.oid = element.typnamespace
left join pg_attrdef as default_value
  on default_value.adrelid = relation.oid and default_value.adnum = attribute.attnum
left join pg_description as comment
  on comment.objoid = relation.oid and comment.classoid = 'pg_class'::regclass and comment.objsubid = attribute.attnum
left join pg_collation as collation_ on collation_.oid = attribute.attcollation
where relation.relkind in ('r', 'p', 'v', 'm', 'f')
  and schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
group by relation.oid

-- name: constraints
-- Without `not null`, which columns show.
select relation.oid::text, json_agg(json_build_object(
  'name', con.conname,
  'kind', case con.contype when 'p' then 'primary key' when 'u' then 'unique' when 'f' then 'foreign key'
    when 'c' then 'check' when 'x' then 'exclusion' else 'trigger' end,
  'columns', array(select attribute.attname from unnest(con.conkey) with ordinality as key (number, place)
    join pg_attribute as attribute on attribute.attrelid = con.conrelid and attribute.attnum = key.number
    order by key.place),
  'definition', pg_get_constraintdef(con.oid),
  'is_validated', con.convalidated, 'is_deferrable', con.condeferrable,
  'target', case when con.contype = 'f' then json_build_object(
    'schema', target_schema.nspname, 'table', target.relname,
    'columns', array(select attribute.attname from unnest(con.confkey) with ordinality as key (number, place)
      join pg_attribute as attribute on attribute.attrelid = con.confrelid and attribute.attnum = key.number
      order by key.place),
    'on_update', case con.confupdtype when 'a' then 'no action' when 'r' then 'restrict' when 'c' then 'cascade'
      when 'n' then 'set null' else 'set default' end,
    'on_delete', case con.confdeltype when 'a' then 'no action' when 'r' then 'restrict' when 'c' then 'cascade'
      when 'n' then 'set null' else 'set default' end) end,
  'comment', obj_description(con.oid, 'pg_constraint')) order by con.contype = 'p' desc, con.conname)
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_constraint as con on con.conrelid = relation.oid and con.contype <> 'n'
left join pg_class as target on target.oid = con.confrelid
left join pg_namespace as target_schema on target_schema.oid = target.relnamespace
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
group by relation.oid

-- name: referenced_by
select relation.oid::text, json_agg(json_build_object(
  'name', con.conname, 'schema', source_schema.nspname, 'table', source.relname,
  'columns', array(select attribute.attname from unnest(con.conkey) with ordinality as key (number, place)
    join pg_attribute as attribute on attribute.attrelid = con.conrelid and attribute.attnum = key.number
    order by key.place),
  'target_columns', array(select attribute.attname from unnest(con.confkey) with ordinality as key (number, place)
    join pg_attribute as attribute on attribute.attrelid = con.confrelid and attribute.attnum = key.number
    order by key.place)) order by source_schema.nspname, source.relname, con.conname)
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_constraint as con on con.confrelid = relation.oid and con.contype = 'f' and con.conparentid = 0
join pg_class as source on source.oid = con.conrelid
join pg_namespace as source_schema on source_schema.oid = source.relnamespace
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
group by relation.oid

-- name: indexes
select relation.oid::text, json_agg(json_build_object(
  'name', index_class.relname, 'definition', pg_get_indexdef(index.indexrelid), 'method', method.amname,
  'columns', array(select coalesce(attribute.attname, pg_get_indexdef(index.indexrelid, key.place::int4, true))
    from unnest(index.indkey::int2[]) with ordinality as key (number, place)
    left join pg_attribute as attribute on attribute.attrelid = index.indrelid and attribute.attnum = key.number and key.number <> 0
    where key.place <= index.indnkeyatts order by key.place),
  'is_unique', index.indisunique, 'is_primary', index.indisprimary, 'is_valid', index.indisvalid,
  'bytes', coalesce(pg_relation_size(index.indexrelid), 0),
  'predicate', pg_get_expr(index.indpred, index.indrelid), 'constraint', con.conname,
  'comment', obj_description(index.indexrelid, 'pg_class')) order by index.indisprimary desc, index_class.relname)
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_index as index on index.indrelid = relation.oid
join pg_class as index_class on index_class.oid = index.indexrelid
join pg_am as method on method.oid = index_class.relam
left join pg_constraint as con on con.conindid = index.indexrelid and con.conrelid = relation.oid and con.contype in ('p', 'u', 'x')
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
group by relation.oid

-- name: triggers
select relation.oid::text, json_agg(json_build_object(
  'name', trigger.tgname, 'definition', pg_get_triggerdef(trigger.oid),
  'function', trigger.tgfoid::regproc::text,
  'enabled', case trigger.tgenabled when 'O' then 'origin' when 'A' then 'always' when 'R' then 'replica' else 'disabled' end,
  'comment', obj_description(trigger.oid, 'pg_trigger')) order by trigger.tgname)
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_trigger as trigger on trigger.tgrelid = relation.oid and not trigger.tgisinternal
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
group by relation.oid

-- name: policies
select relation.oid::text, json_agg(json_build_object(
  'name', policy.polname,
  'command', case policy.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
    else 'all' end,
  'is_permissive', policy.polpermissive,
  'roles', array(select case role.number when 0 then 'public' else pg_get_userbyid(role.number)::text end
    from unnest(policy.polroles) as role (number) order by 1),
  'using', pg_get_expr(policy.polqual, policy.polrelid), 'check', pg_get_expr(policy.polwithcheck, policy.polrelid),
  'comment', obj_description(policy.oid, 'pg_policy')) order by policy.polname)
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
join pg_policy as policy on policy.polrelid = relation.oid
where schema.nspname = any (array(select json_array_elements_text($1::json)))
  and ($2::text is null or relation.relname = $2::text)
group by relation.oid

-- name: grants
select relation_oid::text, json_agg(json_build_object(
  'role', role, 'privileges', privileges, 'grantable', grantable, 'column', column_name) order by column_name nulls first, role)
from (
  select relation_oid, column_name, case grantee when 0 then 'public' else pg_get_userbyid(grantee)::text end as role,
    array_agg(distinct lower(privilege_type)) as privileges,
    coalesce(array_agg(distinct lower(privilege_type)) filter (where is_grantable), '{}') as grantable
  from (
    select relation.oid as relation_oid, null::name as column_name, entry.grantee, entry.privilege_type, entry.is_grantable
    from pg_class as relation
    join pg_namespace as schema on schema.oid = relation.relnamespace
    cross join aclexplode(coalesce(relation.relacl, acldefault('r', relation.relowner))) as entry
    where relation.relkind in ('r', 'p', 'v', 'm', 'f')
      and schema.nspname = any (array(select json_array_elements_text($1::json)))
      and ($2::text is null or relation.relname = $2::text)
    union all
    select relation.oid, attribute.attname, entry.grantee, entry.privilege_type, entry.is_grantable
    from pg_class as relation
    join pg_namespace as schema on schema.oid = relation.relnamespace
    join pg_attribute as attribute on attribute.attrelid = relation.oid and attribute.attacl is not null
    cross join aclexplode(attribute.attacl) as entry
    where schema.nspname = any (array(select json_array_elements_text($1::json)))
      and ($2::text is null or relation.relname = $2::text)
  ) as entries
  group by relation_oid, column_name, grantee
) as grouped
group by relation_oid
