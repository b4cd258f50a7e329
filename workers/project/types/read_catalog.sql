-- Input of type generation (read_catalog.py). $1: the schemas.

-- name: missing
select wanted from pg_catalog.unnest($1::text[]) as wanted
where not exists (select from pg_catalog.pg_namespace where nspname = wanted)

-- name: relations
-- Tables, views, foreign tables and composite types with their columns.
select pg_catalog.json_agg(pg_catalog.json_build_object(
  'schema', space.nspname,
  'name', relation.relname,
  'kind', relation.relkind,
  'is_insertable', relation.relkind = 'v' and pg_catalog.pg_relation_is_updatable(relation.oid, true) & 8 = 8,
  'is_updatable', relation.relkind = 'v' and pg_catalog.pg_relation_is_updatable(relation.oid, true) & 4 = 4,
  'columns', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', attribute.attname,
      'type', attribute.atttypid::bigint,
      'is_nullable', not (attribute.attnotnull or (kind.typtype = 'd' and kind.typnotnull)),
      'has_default', attribute.atthasdef or attribute.attidentity <> ''
        or (kind.typtype = 'd' and kind.typdefault is not null),
      'is_always_made', attribute.attidentity = 'a' or attribute.attgenerated <> '',
      'is_updatable', relation.relkind <> 'v' or pg_catalog.pg_column_is_updatable(relation.oid, attribute.attnum, false)
        or exists (  -- a trigger or rule in place of the statement takes whole rows
          select from pg_catalog.pg_trigger
          where tgrelid = relation.oid and tgtype & 64 <> 0 and tgtype & 20 <> 0 and not tgisinternal)
        or exists (
          select from pg_catalog.pg_rewrite
          where ev_class = relation.oid and ev_type in ('2', '3') and is_instead and ev_qual = '<>')
    ) order by attribute.attnum)
    from pg_catalog.pg_attribute as attribute
    join pg_catalog.pg_type as kind on kind.oid = attribute.atttypid
    where attribute.attrelid = relation.oid and attribute.attnum > 0 and not attribute.attisdropped
  ), '[]')
))::text
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where space.nspname = any($1::text[])
  and relation.relkind in ('r', 'p', 'f', 'v', 'm', 'c')

-- name: functions
select pg_catalog.json_agg(pg_catalog.json_build_object(
  'schema', space.nspname,
  'name', function.proname,
  'returns', function.prorettype::bigint,
  'returns_set', function.proretset,
  'is_one', function.proretset and function.prorows <= 1,
  'signature', pg_catalog.pg_get_function_arguments(function.oid),
  'arguments', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', coalesce(function.proargnames[place], ''),
      'type', kind::bigint,
      'mode', coalesce(function.proargmodes[place]::text, 'i'),
      'has_default', coalesce(function.proargmodes[place]::text, 'i') in ('i', 'b', 'v') and (
        select count(*) from pg_catalog.generate_series(1, place) as before
        where coalesce(function.proargmodes[before]::text, 'i') in ('i', 'b', 'v')
      ) > function.pronargs - function.pronargdefaults
    ) order by place)
    from pg_catalog.unnest(coalesce(function.proallargtypes, function.proargtypes::oid[]))
      with ordinality as given (kind, place)
  ), '[]')
))::text
from pg_catalog.pg_proc as function
join pg_catalog.pg_namespace as space on space.oid = function.pronamespace
where space.nspname = any($1::text[])
  and function.prokind = 'f'
  and function.prorettype not in ('trigger'::pg_catalog.regtype, 'event_trigger'::pg_catalog.regtype)
  and not exists (
    select from pg_catalog.pg_depend
    where classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and objid = function.oid and deptype = 'e')

-- name: types
-- All types: domains with what they stand on, arrays with their elements, enums with their labels.
with recursive under (id, base) as (
  select oid, typbasetype from pg_catalog.pg_type where typtype = 'd'
  union all
  select under.id, deeper.typbasetype from under
  join pg_catalog.pg_type as deeper on deeper.oid = under.base and deeper.typtype = 'd'
)
select pg_catalog.json_agg(pg_catalog.json_build_object(
  'id', kind.oid::bigint,
  'schema', space.nspname,
  'name', kind.typname,
  'kind', case when kind.typelem <> 0 and kind.typsubscript::text = 'array_subscript_handler' then 'a' else kind.typtype::text end,
  'element', kind.typelem::bigint,
  'relation_kind', coalesce((select relkind from pg_catalog.pg_class where oid = kind.typrelid)::text, ''),
  'base', coalesce((
    select under.base::bigint from under join pg_catalog.pg_type as bottom on bottom.oid = under.base
    where under.id = kind.oid and bottom.typtype <> 'd'), 0),
  'labels', coalesce((
    select pg_catalog.json_agg(label.enumlabel order by label.enumsortorder)
    from pg_catalog.pg_enum as label where label.enumtypid = kind.oid), '[]')
))::text
from pg_catalog.pg_type as kind
join pg_catalog.pg_namespace as space on space.oid = kind.typnamespace

-- name: view_rules
-- The queries of all views of a project, and of those that they read; one that is longer than 1 MB is not followed. And columns whose
-- comment has the line @notNull, the mark of the official command line.
select pg_catalog.json_agg(pg_catalog.json_build_object(
  'id', relation.oid::bigint, 'schema', space.nspname, 'name', relation.relname,
  'tree', case when pg_catalog.length(rule.ev_action::text) < 1000000 then rule.ev_action::text else '' end,
  'marked', coalesce((
    select pg_catalog.json_agg(note.objsubid) from pg_catalog.pg_description as note
    where note.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass and note.objoid = relation.oid and note.objsubid > 0
      and note.description ~ '(?n)^\s*@notNull\s*$'), '[]')))::text
from pg_catalog.pg_rewrite as rule
join pg_catalog.pg_class as relation on relation.oid = rule.ev_class
join pg_catalog.pg_namespace as space on space.oid = relation.relnamespace
where rule.rulename = '_RETURN' and relation.relkind in ('v', 'm')
  and space.nspname <> all('{pg_catalog,information_schema}'::text[])

-- name: filled_columns
-- Columns of tables that are NOT NULL, by the oid of the table.
select pg_catalog.json_object_agg(numbered.id, numbered.numbers)::text
from (
  select attribute.attrelid::bigint as id, pg_catalog.json_agg(attribute.attnum) as numbers
  from pg_catalog.pg_attribute as attribute
  join pg_catalog.pg_class as relation on relation.oid = attribute.attrelid
  join pg_catalog.pg_type as kind on kind.oid = attribute.atttypid
  where relation.relkind in ('r', 'p', 'f') and attribute.attnum > 0 and not attribute.attisdropped
    and relation.relnamespace::pg_catalog.regnamespace::text <> all('{pg_catalog,information_schema,pg_toast}'::text[])
    and (attribute.attnotnull or (kind.typtype = 'd' and kind.typnotnull))
  group by attribute.attrelid
) as numbered
