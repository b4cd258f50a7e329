-- What rows.* read of the catalog; every name is qualified, for these run beside objects of tenants.

-- name: table
-- One table or view ($1 schema, $2 name) with its columns, its key and its foreign keys of one column.
select pg_catalog.json_build_object(
  'schema', schema.nspname, 'name', relation.relname,
  'kind', case relation.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' else 'foreign table' end,
  'estimated_rows', case when relation.reltuples operator(pg_catalog.>=) 0 then relation.reltuples::pg_catalog.int8 end,
  'has_row_security', relation.relrowsecurity,
  'events', pg_catalog.pg_relation_is_updatable(relation.oid, true),
  'key', coalesce((
    select pg_catalog.json_agg(attribute.attname order by places.place)
    from (
      select candidate.indkey, candidate.indnkeyatts
      from pg_catalog.pg_index as candidate
      where candidate.indrelid operator(pg_catalog.=) relation.oid and candidate.indisunique and candidate.indisvalid
        and candidate.indimmediate and candidate.indpred is null and candidate.indexprs is null
        and not exists (
          select from pg_catalog.unnest(candidate.indkey::pg_catalog.int2[]) with ordinality as part (number, place)
          join pg_catalog.pg_attribute as nullable on nullable.attrelid operator(pg_catalog.=) relation.oid
            and nullable.attnum operator(pg_catalog.=) part.number
          where part.place operator(pg_catalog.<=) candidate.indnkeyatts and not nullable.attnotnull)
      order by candidate.indisprimary desc, candidate.indnkeyatts, candidate.indexrelid
      limit 1
    ) as chosen
    cross join lateral pg_catalog.unnest(chosen.indkey::pg_catalog.int2[]) with ordinality as places (number, place)
    join pg_catalog.pg_attribute as attribute on attribute.attrelid operator(pg_catalog.=) relation.oid
      and attribute.attnum operator(pg_catalog.=) places.number
    where places.place operator(pg_catalog.<=) chosen.indnkeyatts
  ), '[]'::pg_catalog.json),
  'columns', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', attribute.attname,
      'type', pg_catalog.format_type(attribute.atttypid, attribute.atttypmod),
      'category', case base.typcategory when 'A' then 'array' when 'B' then 'boolean' when 'C' then 'composite'
        when 'D' then 'time' when 'E' then 'enum' when 'G' then 'geometry' when 'I' then 'network' when 'N' then 'number'
        when 'R' then 'range' when 'S' then 'text' when 'T' then 'interval' when 'V' then 'bits'
        else case when base.typname in ('json', 'jsonb') then 'json' when base.typname operator(pg_catalog.=) 'uuid' then 'uuid'
          when base.typname operator(pg_catalog.=) 'bytea' then 'bytes' else 'other' end end,
      'base_type', pg_catalog.format_type(base.oid, null),
      'is_domain', type.typtype operator(pg_catalog.=) 'd',
      'is_nullable', not attribute.attnotnull,
      'is_long', base.typlen operator(pg_catalog.<) 0,
      'is_readable', pg_catalog.has_column_privilege(relation.oid, attribute.attnum, 'select'),
      'is_sortable', base.typcategory in ('A', 'E', 'R') or exists (
        select from pg_catalog.pg_opclass as class
        join pg_catalog.pg_am as method on method.oid operator(pg_catalog.=) class.opcmethod
        where method.amname operator(pg_catalog.=) 'btree' and class.opcdefault
          and (class.opcintype operator(pg_catalog.=) base.oid or exists (
            select from pg_catalog.pg_cast as conversion
            where conversion.castsource operator(pg_catalog.=) base.oid
              and conversion.casttarget operator(pg_catalog.=) class.opcintype
              and conversion.castmethod operator(pg_catalog.=) 'b'
              and conversion.castcontext operator(pg_catalog.=) 'i'))),
      'default', case when attribute.attgenerated operator(pg_catalog.=) ''
        then pg_catalog.pg_get_expr(preset.adbin, preset.adrelid) end,
      'generated', case when attribute.attgenerated operator(pg_catalog.<>) ''
        then pg_catalog.pg_get_expr(preset.adbin, preset.adrelid) end,
      'identity', case attribute.attidentity when 'a' then 'always' when 'd' then 'by default' end,
      'comment', pg_catalog.col_description(relation.oid, attribute.attnum::pg_catalog.int4),
      'enum_labels', (
        select pg_catalog.json_agg(label.enumlabel order by label.enumsortorder)
        from pg_catalog.pg_enum as label
        where label.enumtypid operator(pg_catalog.=)
          case when base.typcategory operator(pg_catalog.=) 'A' then base.typelem else base.oid end),
      'foreign_key', (
        select pg_catalog.json_build_object('schema', target_schema.nspname, 'table', target.relname,
          'column', target_column.attname, 'label', (
            select named.attname
            from pg_catalog.pg_attribute as named
            join pg_catalog.pg_type as named_type on named_type.oid operator(pg_catalog.=) named.atttypid
            where named.attrelid operator(pg_catalog.=) target.oid and named.attnum operator(pg_catalog.>) 0
              and not named.attisdropped and named_type.typcategory operator(pg_catalog.=) 'S'
            order by pg_catalog.array_position(
              array['name', 'title', 'label', 'email', 'username', 'full_name', 'slug']::pg_catalog.name[],
              named.attname),
              -- then what is unique, which a name of a row often is, before other texts
              not exists (select from pg_catalog.pg_index as single where single.indrelid operator(pg_catalog.=) target.oid
                and single.indisunique and single.indnkeyatts operator(pg_catalog.=) 1
                and single.indkey[0] operator(pg_catalog.=) named.attnum),
              named.attnum
            limit 1),
          -- read by the process: the comment may name another label, if it is one of these columns
          'comment', pg_catalog.obj_description(target.oid, 'pg_class'),
          'labels', (
            select pg_catalog.json_agg(named.attname)
            from pg_catalog.pg_attribute as named
            join pg_catalog.pg_type as named_type on named_type.oid operator(pg_catalog.=) named.atttypid
            where named.attrelid operator(pg_catalog.=) target.oid and named.attnum operator(pg_catalog.>) 0
              and not named.attisdropped and named_type.typcategory in ('S', 'N', 'D', 'E')
              and pg_catalog.has_column_privilege(target.oid, named.attnum, 'select')))
        from pg_catalog.pg_constraint as reference
        join pg_catalog.pg_class as target on target.oid operator(pg_catalog.=) reference.confrelid
        join pg_catalog.pg_namespace as target_schema on target_schema.oid operator(pg_catalog.=) target.relnamespace
        join pg_catalog.pg_attribute as target_column on target_column.attrelid operator(pg_catalog.=) target.oid
          and target_column.attnum operator(pg_catalog.=) reference.confkey[1]
        where reference.conrelid operator(pg_catalog.=) relation.oid and reference.contype operator(pg_catalog.=) 'f'
          and reference.conkey operator(pg_catalog.=) array[attribute.attnum]
        order by reference.oid
        limit 1)
    ) order by attribute.attnum)
    from pg_catalog.pg_attribute as attribute
    join pg_catalog.pg_type as type on type.oid operator(pg_catalog.=) attribute.atttypid
    join pg_catalog.pg_type as base
      on base.oid operator(pg_catalog.=) case when type.typtype operator(pg_catalog.=) 'd' then type.typbasetype else type.oid end
    left join pg_catalog.pg_attrdef as preset on preset.adrelid operator(pg_catalog.=) relation.oid
      and preset.adnum operator(pg_catalog.=) attribute.attnum
    where attribute.attrelid operator(pg_catalog.=) relation.oid and attribute.attnum operator(pg_catalog.>) 0
      and not attribute.attisdropped
  ), '[]'::pg_catalog.json))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as schema on schema.oid operator(pg_catalog.=) relation.relnamespace
where schema.nspname operator(pg_catalog.=) $1::pg_catalog.text::pg_catalog.name
  and relation.relname operator(pg_catalog.=) $2::pg_catalog.text::pg_catalog.name
  and relation.relkind in ('r', 'p', 'v', 'm', 'f')
