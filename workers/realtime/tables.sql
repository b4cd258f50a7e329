-- What TABLE and CHECK read of the catalog. Each runs with an empty search path, so that expressions name every schema.

-- name: known
-- Position of the log up to which a statement after this one sees the schema; whether it does; whether changes are marked.
select pg_catalog.json_build_object(
  'lsn', (known.lsn operator(pg_catalog.-) '0/0'::pg_catalog.pg_lsn)::pg_catalog.int8,
  'is_settled', known.is_settled,
  'is_marked', known.is_marked)
from realtime.schema_known() as known

-- name: table
-- A table ($1 schema, $2 name) as the role $3 sees it.
select pg_catalog.json_build_object(
  'is_published', exists (
    select from pg_catalog.pg_publication_tables as published
    where published.pubname = 'supabase_realtime' and published.schemaname = $1 and published.tablename = $2),
  'is_bypassed', coalesce(role.rolsuper or role.rolbypassrls, false) or (
    not relation.relforcerowsecurity and pg_catalog.pg_has_role(role.oid, relation.relowner, 'USAGE')),
  'row_security', relation.relrowsecurity,
  'columns', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', a.attname,
      'typname', t.typname,
      'type', pg_catalog.format_type(a.atttypid, null),
      'is_enum', t.typtype = 'e',
      'is_deterministic', coalesce(c.collisdeterministic, true),
      'may_select', pg_catalog.has_schema_privilege(role.oid, relation.relnamespace, 'USAGE')
        and pg_catalog.has_column_privilege(role.oid, a.attrelid, a.attnum, 'SELECT')) order by a.attnum), '[]')
    from pg_catalog.pg_attribute as a
    join pg_catalog.pg_type as t on t.oid = a.atttypid
    left join pg_catalog.pg_collation as c on c.oid = a.attcollation
    where a.attrelid = relation.oid and a.attnum > 0 and not a.attisdropped),
  'key', (
    select coalesce(pg_catalog.json_agg(a.attname order by place.number), '[]')
    from pg_catalog.pg_index as i
    cross join lateral pg_catalog.unnest(i.indkey) with ordinality as place (attnum, number)
    join pg_catalog.pg_attribute as a on a.attrelid = i.indrelid and a.attnum = place.attnum
    where i.indrelid = relation.oid and i.indisprimary and place.number <= i.indnkeyatts),
  'policies', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'is_permissive', p.polpermissive,
      'using', pg_catalog.pg_get_expr(p.polqual, p.polrelid)) order by p.polname), '[]')
    from pg_catalog.pg_policy as p
    where p.polrelid = relation.oid and p.polcmd in ('r', '*') and exists (
      select from pg_catalog.unnest(p.polroles) as allowed (oid)
      where allowed.oid = 0 or pg_catalog.pg_has_role(role.oid, allowed.oid, 'USAGE'))),
  'functions', (
    select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', f.proname,
      'owner', pg_catalog.pg_get_userbyid(f.proowner),
      'body', f.prosrc,
      'is_plain', l.lanname = 'sql' and f.provolatile = 's' and not f.prosecdef and f.proconfig is null
        and f.prosqlbody is null and pg_catalog.has_function_privilege(role.oid, f.oid, 'EXECUTE'))), '[]')
    from pg_catalog.pg_proc as f
    join pg_catalog.pg_namespace as n on n.oid = f.pronamespace
    join pg_catalog.pg_language as l on l.oid = f.prolang
    where n.nspname = 'auth' and f.pronargs = 0 and f.proname in ('uid', 'jwt', 'role', 'email')))
from pg_catalog.pg_class as relation
join pg_catalog.pg_namespace as n on n.oid = relation.relnamespace
join pg_catalog.pg_roles as role on role.rolname = $3
where n.nspname = $1 and relation.relname = $2 and relation.relkind in ('r', 'p')
