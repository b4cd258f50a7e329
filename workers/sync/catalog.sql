-- What the pool reads of the catalog. Each runs with an empty search path, so that expressions name every schema.

-- name: table
-- A table ($1 schema, $2 name) as the role $3 sees it.
select pg_catalog.json_build_object(
  'oid', relation.oid::pg_catalog.int8,
  'schema', n.nspname,
  'name', relation.relname,
  'is_partitioned', relation.relkind = 'p',
  'identity', relation.relreplident,
  'may_use', pg_catalog.has_schema_privilege(role.oid, relation.relnamespace, 'USAGE'),
  'row_security', relation.relrowsecurity and not (coalesce(role.rolsuper or role.rolbypassrls, false) or (
    not relation.relforcerowsecurity and pg_catalog.pg_has_role(role.oid, relation.relowner, 'USAGE'))),
  'columns', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', a.attname,
      'oid', a.atttypid::pg_catalog.int8,
      'type', coalesce(e.typname, t.typname),
      'sql_type', pg_catalog.format_type(a.atttypid, a.atttypmod),
      'category', t.typtype,
      'base', pg_catalog.format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null),
      'dimensions', case when e.oid is null then 0 else greatest(a.attndims, 1) end,
      'is_not_null', a.attnotnull,
      'modifier', a.atttypmod,
      'generated', a.attgenerated,
      'is_deterministic', coalesce(c.collisdeterministic, true),
      'is_represented', t.typtype = 'd' and exists (
        select from pg_catalog.pg_cast as shown
        where shown.castsource = t.oid and shown.casttarget = 'pg_catalog.json'::pg_catalog.regtype
          and shown.castcontext = 'i' and shown.castmethod = 'f'),
      'may_select', pg_catalog.has_column_privilege(role.oid, a.attrelid, a.attnum, 'SELECT')) order by a.attnum), '[]')
    from pg_catalog.pg_attribute as a
    join pg_catalog.pg_type as t on t.oid = a.atttypid
    left join pg_catalog.pg_type as e on e.oid = t.typelem and t.typcategory = 'A'
    left join pg_catalog.pg_collation as c on c.oid = a.attcollation
    where a.attrelid = relation.oid and a.attnum > 0 and not a.attisdropped),
  'key', (
    select coalesce(pg_catalog.json_agg(a.attname order by place.number), '[]')
    from pg_catalog.pg_index as i
    cross join lateral pg_catalog.unnest(i.indkey) with ordinality as place (attnum, number)
    join pg_catalog.pg_attribute as a on a.attrelid = i.indrelid and a.attnum = place.attnum
    where i.indrelid = relation.oid and i.indisprimary and place.number <= i.indnkeyatts),
  'tree', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', c.oid::pg_catalog.int8, 'schema', m.nspname, 'name', c.relname)), '[]')
    from (
      select relid from pg_catalog.pg_partition_ancestors(relation.oid) as above (relid)
      union
      select relid from pg_catalog.pg_partition_tree(relation.oid)
      union
      select relation.oid
    ) as tree (relid)
    join pg_catalog.pg_class as c on c.oid = tree.relid
    join pg_catalog.pg_namespace as m on m.oid = c.relnamespace),
  'policies', (
    select coalesce(pg_catalog.json_agg(pg_catalog.pg_get_expr(p.polqual, p.polrelid) order by p.polname), '[]')
    from pg_catalog.pg_policy as p
    where p.polrelid = relation.oid and p.polcmd in ('r', '*') and p.polqual is not null and exists (
      select from pg_catalog.unnest(p.polroles) as allowed (oid)
      where allowed.oid = 0 or pg_catalog.pg_has_role(role.oid, allowed.oid, 'USAGE'))))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as n on n.oid = relation.relnamespace
join pg_catalog.pg_roles as role on role.rolname = $3
where n.nspname = $1 and relation.relname = $2 and relation.relkind in ('r', 'p') and relation.relpersistence <> 't'
  and n.nspname not in ('pg_catalog', 'information_schema')

-- name: reached
-- Tables and functions on which the policies of the tables $1 (oids) depend, directly or through others. What a function reads
-- is not in the catalog: each table and function whose name occurs in its text counts.
with recursive reached (is_table, oid) as (
  select true, root.oid from pg_catalog.unnest($1::pg_catalog.oid[]) as root (oid)
  union
  select next.is_table, next.oid
  from reached
  cross join lateral (
    select d.refclassid operator(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass, d.refobjid
    from pg_catalog.pg_policy as p
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and d.objid = p.oid
    where reached.is_table and p.polrelid = reached.oid and p.polcmd in ('r', '*')
      and d.refclassid in ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass)
    union all
    select true, c.oid
    from pg_catalog.pg_proc as f
    join pg_catalog.pg_class as c on c.relkind in ('r', 'p') and c.relpersistence <> 't'
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where not reached.is_table and f.oid = reached.oid
      and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
      and (pg_catalog.strpos(pg_catalog.lower(f.prosrc), pg_catalog.lower(c.relname)) > 0 or exists (
        select from pg_catalog.pg_depend as d
        where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = f.oid
          and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid = c.oid))
    union all
    select false, called.oid
    from pg_catalog.pg_proc as f
    join pg_catalog.pg_proc as called on called.oid <> f.oid
    join pg_catalog.pg_namespace as n on n.oid = called.pronamespace
    where not reached.is_table and f.oid = reached.oid
      and n.nspname not in ('pg_catalog', 'information_schema')
      and pg_catalog.strpos(pg_catalog.lower(f.prosrc), pg_catalog.lower(called.proname)) > 0
      and not exists (
        select from pg_catalog.pg_depend as e
        where e.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and e.objid = called.oid and e.deptype = 'e')
  ) as next (is_table, oid)
)
select pg_catalog.json_build_object(
  'tables', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'oid', c.oid::pg_catalog.int8, 'schema', n.nspname, 'name', c.relname)), '[]')
    from reached
    join pg_catalog.pg_class as c on c.oid = reached.oid and c.relkind in ('r', 'p')
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where reached.is_table),
  'others', exists (
    select from reached join pg_catalog.pg_class as c on c.oid = reached.oid and c.relkind not in ('r', 'p')
    where reached.is_table) or exists (
    select from reached
    join pg_catalog.pg_policy as p on reached.is_table and p.polrelid = reached.oid
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and d.objid = p.oid
    where d.refclassid = 'pg_catalog.pg_operator'::pg_catalog.regclass),
  'functions', (
    select coalesce(pg_catalog.json_agg(distinct pg_catalog.concat(n.nspname, '.', f.proname)), '[]')
    from reached
    join pg_catalog.pg_proc as f on f.oid = reached.oid
    join pg_catalog.pg_namespace as n on n.oid = f.pronamespace
    where not reached.is_table),
  'texts', (
    select coalesce(pg_catalog.json_agg(distinct f.prosrc), '[]')
    from reached
    join pg_catalog.pg_proc as f on f.oid = reached.oid
    join pg_catalog.pg_namespace as n on n.oid = f.pronamespace
    where not reached.is_table and not (n.nspname = 'auth' and f.proname in ('uid', 'jwt', 'role', 'email'))),
  'policies', (
    select coalesce(pg_catalog.json_agg(distinct pg_catalog.pg_get_expr(p.polqual, p.polrelid)), '[]')
    from reached join pg_catalog.pg_policy as p on p.polrelid = reached.oid and p.polcmd in ('r', '*')
    where reached.is_table and p.polqual is not null))

-- name: rights
-- Digests that change with everything by which a caller may see more or less: of each table, of all functions, of all else.
select pg_catalog.json_build_object(
  'tables', (
    select coalesce(pg_catalog.json_object_agg(c.oid, pg_catalog.md5(pg_catalog.concat_ws(
      ' ', c.relname, c.relnamespace, c.relowner, c.relacl, c.relrowsecurity, c.relforcerowsecurity, c.relreplident, c.relispartition,
      (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.oid, p.xmin), ',' order by p.oid)
       from pg_catalog.pg_policy as p where p.polrelid = c.oid),
      (select pg_catalog.string_agg(pg_catalog.concat_ws(
         ' ', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attisdropped, a.attacl, a.attgenerated
       ), ',' order by a.attnum) from pg_catalog.pg_attribute as a where a.attrelid = c.oid and a.attnum > 0),
      (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', i.indexrelid, i.indkey), ',' order by i.indexrelid)
       from pg_catalog.pg_index as i where i.indrelid = c.oid and i.indisprimary),
      (select pg_catalog.string_agg(h.inhrelid::pg_catalog.text, ',' order by h.inhrelid)
       from pg_catalog.pg_inherits as h where h.inhparent = c.oid)))), '{}')
    from pg_catalog.pg_class as c where c.relkind in ('r', 'p', 'v', 'm') and c.oid >= 16384 and c.relpersistence <> 't'),
  'functions', (
    select coalesce(pg_catalog.md5(pg_catalog.string_agg(pg_catalog.concat_ws(' ', oid, xmin), ',' order by oid)), '')
    from pg_catalog.pg_proc where oid >= 16384),
  'others', pg_catalog.md5(pg_catalog.concat_ws(
    '|',
    (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', oid, nspname, nspacl, nspowner), ',' order by oid)
     from pg_catalog.pg_namespace where nspname not like 'pg\_t%'),
    (select pg_catalog.string_agg(pg_catalog.concat_ws(' ', oid, prattrs), ',' order by oid)
     from pg_catalog.pg_publication_rel where prattrs is not null),
    (select pg_catalog.string_agg(
       pg_catalog.concat_ws(' ', rolname, rolsuper, rolbypassrls, rolinherit, rolcanlogin), ',' order by oid)
     from pg_catalog.pg_roles),
    (select pg_catalog.string_agg(
       pg_catalog.concat_ws(' ', m.roleid, m.member, pg_catalog.to_jsonb(m)), ',' order by m.roleid, m.member, m.grantor)
     from pg_catalog.pg_auth_members as m))))

-- name: publish
-- Publishes a table ($1, an oid) for shapes; the reason why it cannot be, or ''.
select realtime.publish_for_sync($1::pg_catalog.oid)

-- name: writers
-- Transactions that have written to the tables $1.
select written from realtime.writers_of($1::pg_catalog.oid[]) as written

-- name: fence
-- Asks the reader of the log to publish that everything before is in the stream; the position of the request.
select (pg_catalog.pg_logical_emit_message(true, 'headwater', 'fence'::pg_catalog.text) - '0/0')::pg_catalog.int8

-- name: position
-- The position behind everything that is written to the log.
select (pg_catalog.pg_current_wal_insert_lsn() - '0/0')::pg_catalog.int8

-- name: unpublish_listed
-- Takes tables out of the publication whose columns another one lists; how many there were.
select realtime.unpublish_listed()
