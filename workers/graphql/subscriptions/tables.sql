-- Catalog statements of subscriptions. The search path is empty.

-- name: behind
-- The tables behind relations ($1, a JSON array of [schema, name]): for a view the tables that it reads, for a
-- partitioned table its partitions. Returns a JSON array of {schema, name, kind, is_published}.
with recursive requested as (
  select c.oid
  from pg_catalog.jsonb_array_elements($1::text::jsonb) as one(pair)
  join pg_catalog.pg_namespace as n on n.nspname = one.pair ->> 0
  join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = one.pair ->> 1
), behind(oid) as (
  select oid from requested
  union
  select below.oid
  from behind
  join pg_catalog.pg_class as c on c.oid = behind.oid
  cross join lateral (
    select d.refobjid as oid
    from pg_catalog.pg_rewrite as r
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = r.oid
      and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid <> c.oid
    where c.relkind = 'v' and r.ev_class = c.oid
    union all
    select i.inhrelid from pg_catalog.pg_inherits as i where c.relkind = 'p' and i.inhparent = c.oid
  ) as below
), published as (
  select n.nspname, c.relname, c.relkind, c.oid, exists (
    select from pg_catalog.pg_publication_tables as p
    where p.pubname = 'supabase_realtime' and p.schemaname = n.nspname and p.tablename = c.relname) as is_published
  from behind
  join pg_catalog.pg_class as c on c.oid = behind.oid
  join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema')
), followed as (
  select * from published as one
  where case
    -- for a partitioned table, its own entry or those of its partitions, whichever is published
    when one.relkind = 'p' then one.is_published or not exists (
      select from pg_catalog.pg_inherits as i where i.inhparent = one.oid)
    else one.is_published or not exists (
      select from pg_catalog.pg_inherits as i join published as above on above.oid = i.inhparent and above.is_published
      where i.inhrelid = one.oid)
  end
)
select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
  'schema', nspname, 'name', relname, 'kind', relkind, 'is_published', is_published) order by nspname, relname), '[]')
from followed;
