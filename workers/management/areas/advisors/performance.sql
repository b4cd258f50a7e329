-- Rules about statements that are slower than they need be. Each statement follows the shared part of shared.sql.

-- name: unindexed_foreign_keys
-- A partitioned table takes no `concurrently`.
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table', 'part', reference.conname,
  'detail', format('Foreign key %I of table %s has no index: deletes of the rows it refers to, and joins, read the whole table',
    reference.conname, relation.quoted),
  'fix', format('create index %son %s (%s);', case when relation.kind = 'r' then 'concurrently ' end, relation.quoted, keys.list),
  'metadata', json_build_object('constraint', reference.conname, 'columns', keys.names))
from pg_catalog.pg_constraint as reference
join relations as relation on relation.oid = reference.conrelid
cross join lateral (
  select string_agg(quote_ident(field.attname), ', ' order by key.position) as list,
    json_agg(field.attname order by key.position) as names
  from unnest(reference.conkey) with ordinality as key (attnum, position)
  join pg_catalog.pg_attribute as field on field.attrelid = reference.conrelid and field.attnum = key.attnum
) as keys
where reference.contype = 'f' and reference.conparentid = 0 and not exists (
  select from indexes as index where index.table_oid = reference.conrelid and index.is_whole
    and index.columns[0 : cardinality(reference.conkey) - 1] @> reference.conkey)

-- name: auth_rls_initplan
-- Candidates: whether a call is wrapped in a subquery is decided by row_calls.py.
select json_build_object('schema', policy.schema, 'name', policy.name, 'type', 'table', 'part', policy.policy,
  'detail', format('Policy %I of table %s calls a function of the session for every row', policy.policy, policy.quoted),
  'metadata', json_build_object('policy', policy.policy, 'using', policy.qual, 'check', policy.with_check))
from policies as policy
where policy.has_row_security and concat(policy.qual, ' ', policy.with_check) ~ '(auth\.(uid|jwt|role|email)\(\)|current_setting\()'

-- name: no_primary_key
select json_build_object('schema', relation.schema, 'name', relation.name, 'type', 'table',
  'detail', format('Table %s has no primary key', relation.quoted),
  'fix', case when not exists (select from pg_catalog.pg_attribute as field
      where field.attrelid = relation.oid and field.attname = 'id' and not field.attisdropped)
    then format('alter table %s add column id bigint generated always as identity primary key;', relation.quoted) end)
from relations as relation
where relation.kind in ('r', 'p') and not exists (
  select from pg_catalog.pg_index as primary_key where primary_key.indrelid = relation.oid and primary_key.indisprimary)

-- name: unused_index
select json_build_object('schema', index.schema, 'name', index.name, 'type', 'table', 'part', index.index,
  'detail', format('Index %I of table %I.%I was never used since statistics are counted; it slows down every change', index.index,
    index.schema, index.name),
  'fix', format('drop index %s;', index.quoted_index),
  'metadata', json_build_object('index', index.index, 'bytes', pg_relation_size(index.oid)))
from indexes as index
where not index.is_unique and not index.is_primary and not index.is_needed and not index.is_partitioned
  and coalesce(pg_stat_get_numscans(index.oid), 0) = 0

-- name: multiple_permissive_policies
, commands (command, letter) as (values ('select', 'r'), ('insert', 'a'), ('update', 'w'), ('delete', 'd')),
by_role as (
  select policy.*, commands.command as action, role.rolname as role,
    case when policy.command in ('w', '*') then coalesce(policy.with_check, policy.qual) else policy.with_check end as check_text
  from policies as policy
  join commands on policy.command::text in ('*', commands.letter)
  join pg_catalog.pg_roles as role on role.oid = any(policy.roles)
    or policy.roles = '{0}' and role.rolname in ('anon', 'authenticated')
  where policy.is_permissive and policy.has_row_security and not role.rolbypassrls and not role.rolsuper
),
several as (
  select schema, name, quoted, action, role, array_agg(policy order by policy) as names,
    case when count(distinct (command, roles)) = 1 then
      (select string_agg(format('drop policy if exists %I on %s;', other, quoted), E'\n')
        from unnest((array_agg(policy order by policy))[2:]) as other)
      || format(E'\nalter policy %I on %s%s%s;', min(policy), quoted,
        ' using (' || string_agg('(' || qual || ')', ' or ' order by policy) || ')',
        ' with check (' || string_agg('(' || check_text || ')', ' or ' order by policy) || ')') end as fix
  from by_role group by schema, name, quoted, action, role having count(*) > 1
)
select json_build_object('schema', several.schema, 'name', several.name, 'type', 'table', 'part', several.action,
  'detail', format('Table %s has several permissive policies for %s (%s): each is evaluated for every row', several.quoted,
    several.action, array_to_string(several.names, ', ')),
  'fix', several.fix,
  'metadata', json_build_object('policies', several.names, 'roles', json_agg(several.role order by several.role)))
from several group by several.schema, several.name, several.quoted, several.action, several.names, several.fix

-- name: duplicate_index
select json_build_object('schema', alike.schema, 'name', alike.name, 'type', 'table', 'part', array_to_string(alike.names, ', '),
  'detail', format('Indexes of table %I.%I are the same: %s', alike.schema, alike.name, array_to_string(alike.names, ', ')),
  'fix', (select string_agg(format('drop index %s;', surplus), E'\n') from unnest(alike.surplus) as surplus),
  'metadata', json_build_object('indexes', alike.names))
from (
  select index.schema, index.name, array_agg(index.index order by index.index) as names,
    case when bool_or(index.is_needed) then array_agg(index.quoted_index order by index.index) filter (where not index.is_needed)
      else (array_agg(index.quoted_index order by index.index))[2:] end as surplus
  from indexes as index
  where not exists (select from pg_catalog.pg_class as entry where entry.oid = index.oid and entry.relispartition)
  group by index.schema, index.name, index.table_oid, index.definition having count(*) > 1
) as alike

-- name: table_bloat
-- Pages that rows of average width need, beside the pages that the table has; of the statistics of the last ANALYZE.
, widths as (
  select statistic.schemaname as schema, statistic.tablename as name,
    sum((1 - statistic.null_frac) * statistic.avg_width) as bytes_of_row
  from pg_catalog.pg_stats as statistic where not statistic.inherited group by 1, 2
),
estimates as (
  select relation.schema, relation.name, relation.quoted, relation.oid, entry.relpages,
    ceil(entry.reltuples * (28 + 8 + widths.bytes_of_row) / (8168 * coalesce((
      select option.option_value::float8 / 100 from pg_options_to_table(relation.options) as option
      where option.option_name = 'fillfactor'), 1))) as needed_pages
  from relations as relation
  join pg_catalog.pg_class as entry on entry.oid = relation.oid
  join widths on widths.schema = relation.schema and widths.name = relation.name
  where relation.kind = 'r' and entry.reltuples >= 0
)
select json_build_object('schema', estimate.schema, 'name', estimate.name, 'type', 'table',
  'detail', format('Table %s has %s pages and needs about %s', estimate.quoted, estimate.relpages, estimate.needed_pages),
  'fix', (select format('cluster %s using %I;', estimate.quoted, key.relname) from pg_catalog.pg_index as entry
    join pg_catalog.pg_class as key on key.oid = entry.indexrelid
    where entry.indrelid = estimate.oid and entry.indisprimary),
  'metadata', json_build_object('bytes', estimate.relpages::int8 * 8192,
    'surplus_bytes', (estimate.relpages - estimate.needed_pages)::int8 * 8192))
from estimates as estimate
where (estimate.relpages - estimate.needed_pages) * 8192 > 20 * 1024 * 1024
  and estimate.needed_pages < 0.3 * estimate.relpages

-- name: invalid_index
-- One that is being built is invalid, too: it is left out as long as its statement runs.
select json_build_object('schema', entry.schema, 'name', entry.name, 'type', 'table', 'part', entry.index,
  'detail', format('Index %s is invalid: its creation did not end. Changes maintain it, no query uses it', entry.quoted_index),
  'fix', case when entry.is_needed then format('reindex index %s;', entry.quoted_index)
    else format('drop index %s;', entry.quoted_index) end,
  'metadata', json_build_object('index', entry.index))
from indexes as entry
join pg_catalog.pg_index as state on state.indexrelid = entry.oid
where not (state.indisvalid and state.indisready) and not entry.is_partitioned
  and not exists (select from pg_catalog.pg_stat_progress_create_index as build where build.index_relid = entry.oid)

-- name: unused_replication_slot
select json_build_object('schema', '', 'name', slot.slot_name, 'type', 'replication slot',
  'detail', format('Replication slot %I has no reader and holds back %s of the log', slot.slot_name,
    pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), slot.restart_lsn))),
  'fix', format('select pg_drop_replication_slot(%L);', slot.slot_name),
  'metadata', json_build_object('slot', slot.slot_name, 'bytes', pg_wal_lsn_diff(pg_current_wal_lsn(), slot.restart_lsn)))
from pg_catalog.pg_replication_slots as slot, input
where not slot.active and not slot.temporary and slot.restart_lsn is not null and not pg_is_in_recovery()
  and not input.lists -> 'slots' ? slot.slot_name::text and slot.slot_name !~ '^headwater_'
